//! Bearer tokens, signed here with the installation's secret, independently of the program's own command.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

/// How long the tests' tokens are valid, in seconds.
const VALID_S: u64 = 3_600;

/// A token of a user on an endpoint.
#[must_use]
pub fn user(secret: &[u8], uid: u64, endpoint: &str) -> String {
    let claims =
        json!({"sub": uid.to_string(), "scope": "user", "endpoint": endpoint, "exp": expires_at_s()});
    sign(secret, &claims)
}

/// A token of the IM backend.
#[must_use]
pub fn service(secret: &[u8]) -> String {
    sign(secret, &json!({"sub": "0", "scope": "service", "exp": expires_at_s()}))
}

/// Any claims, signed with HS256.
#[must_use]
pub fn sign(secret: &[u8], claims: &Value) -> String {
    let key = EncodingKey::from_secret(secret);
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &key).expect("claims can be signed")
}

/// Any claims under any header, with a signature that the header's algorithm does not make.
#[must_use]
pub fn forge(header: &Value, claims: &Value, signature: &[u8]) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{}", part(header), part(claims), URL_SAFE_NO_PAD.encode(signature))
}

/// When a token made now ends, in seconds since 1970.
#[must_use]
pub fn expires_at_s() -> u64 {
    crate::now_ms() / 1_000 + VALID_S
}
