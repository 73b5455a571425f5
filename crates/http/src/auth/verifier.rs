use super::keys::{PublicKey, public_keys};
use super::{KeyError, Scope};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use readmark_domain::id::{Endpoint, Uid};
use readmark_domain::time::TimeMs;
use serde::Deserialize;

/// Longest token looked at: well beyond what the largest RSA key and readmark's claims need.
const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The user, or the backend's own id.
    pub uid: Uid,
    /// What the token may be used for.
    pub scope: Scope,
    /// The device.
    pub endpoint: Option<Endpoint>,
    /// When the token ends.
    pub expires_at: TimeMs,
}

/// Why a token is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// No `Authorization: Bearer …`.
    #[error("no bearer token")]
    Missing,
    /// No token at all, or of an algorithm that is not accepted, `none` among them.
    #[error("the token is malformed or its algorithm is not accepted")]
    Malformed,
    /// Signed with another key.
    #[error("the token's signature is not of a known key")]
    WrongKey,
    /// A claim is missing or can't be read.
    #[error("the token's claims can't be used: {0}")]
    BadClaims(String),
    /// Over, or not begun.
    #[error("the token is not valid at this time")]
    NotNow,
}

#[derive(Deserialize)]
struct RawClaims {
    sub: Uid,
    scope: Scope,
    exp: f64,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    endpoint: Option<Endpoint>,
}

/// Checks tokens. The algorithm decides which keys may have signed: HS256 the secret only, the others the
/// public keys only, so that a public key never serves as a secret.
pub struct Verifier {
    secret: Option<DecodingKey>,
    public: Vec<PublicKey>,
}

impl Verifier {
    /// From a secret, a JSON Web Key Set, or both.
    ///
    /// # Errors
    /// [`KeyError`] when a key can't be used or there is none.
    pub fn new(secret: Option<&[u8]>, jwks: Option<&str>) -> Result<Self, KeyError> {
        if secret.is_some_and(<[u8]>::is_empty) {
            return Err(KeyError::EmptySecret);
        }
        let public = jwks.map(public_keys).transpose()?.unwrap_or_default();
        if secret.is_none() && public.is_empty() {
            return Err(KeyError::NoKey);
        }
        Ok(Self { secret: secret.map(DecodingKey::from_secret), public })
    }

    /// Says whose token it is at `now`.
    ///
    /// # Errors
    /// [`AuthError`]: the answer is 401.
    pub fn verify(&self, token: &str, now: TimeMs) -> Result<Caller, AuthError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(AuthError::Malformed);
        }
        let header = jsonwebtoken::decode_header(token).map_err(|_| AuthError::Malformed)?;
        let keys = self.keys_for(header.alg, header.kid.as_deref());
        let claims =
            keys.iter().find_map(|key| claims_by(token, key, header.alg)).ok_or(AuthError::WrongKey)?;
        let raw: RawClaims =
            serde_json::from_value(claims).map_err(|error| AuthError::BadClaims(error.to_string()))?;
        let now_s = now.get() as f64 / 1_000.0;
        if raw.exp.is_nan() || raw.exp <= now_s || raw.nbf.is_some_and(|nbf| nbf > now_s) {
            return Err(AuthError::NotNow);
        }
        let expires_at = TimeMs::saturating((raw.exp * 1_000.0) as u64);
        Ok(Caller { uid: raw.sub, scope: raw.scope, endpoint: raw.endpoint, expires_at })
    }

    fn keys_for(&self, algorithm: Algorithm, kid: Option<&str>) -> Vec<&DecodingKey> {
        if algorithm == Algorithm::HS256 {
            return self.secret.iter().collect();
        }
        let named = |key: &&PublicKey| kid.is_none() || key.kid.is_none() || key.kid.as_deref() == kid;
        self.public
            .iter()
            .filter(|key| key.algorithm == algorithm)
            .filter(named)
            .map(|key| &key.key)
            .collect()
    }
}

/// The claims, when this key signed the token. Times are checked by the caller, against its own clock.
fn claims_by(token: &str, key: &DecodingKey, algorithm: Algorithm) -> Option<serde_json::Value> {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    jsonwebtoken::decode(token, key, &validation).ok().map(|data| data.claims)
}
