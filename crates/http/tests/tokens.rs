//! Which tokens are believed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use readmark_domain::id::{Endpoint, Uid};
use readmark_domain::time::TimeMs;
use readmark_http::AuthSettings;
use readmark_http::auth::{AuthError, Claims, KeyError, Scope, Verifier, sign};
use serde_json::{Value, json};

const SECRET: &[u8] = b"a secret of the tests, 32 bytes and more";
const NOW_S: u64 = 1_780_000_000;

/// Keys made for one test, and the set of their public halves.
struct Keys {
    rs256: EncodingKey,
    es256: EncodingKey,
    eddsa: EncodingKey,
    jwks: String,
}

impl Keys {
    fn new() -> Self {
        let b64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let rsa = aws_lc_rs::rsa::KeyPair::generate(KeySize::Rsa2048).unwrap();
        let rsa_der = AsDer::<Pkcs8V1Der<'_>>::as_der(&rsa).unwrap();
        let (open, close) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
        let rsa_pem = format!("{open}\n{}\n{close}\n", STANDARD.encode(rsa_der.as_ref()));
        let ec = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let point = &ec.public_key().as_ref()[1..];
        let ed = Ed25519KeyPair::generate().unwrap();
        let jwks = json!({"keys": [
            {
                "kty": "RSA", "use": "sig", "kid": "rsa-1", "e": "AQAB",
                "n": b64(rsa.public_key().modulus().big_endian_without_leading_zero())
            },
            {"kty": "EC", "crv": "P-256", "kid": "ec-1", "x": b64(&point[..32]), "y": b64(&point[32..])},
            {"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "ed-1", "x": b64(ed.public_key().as_ref())}
        ]});
        Self {
            rs256: EncodingKey::from_rsa_pem(rsa_pem.as_bytes()).unwrap(),
            es256: EncodingKey::from_ec_der(ec.to_pkcs8v1().unwrap().as_ref()),
            eddsa: EncodingKey::from_ed_der(ed.to_pkcs8v1().unwrap().as_ref()),
            jwks: jwks.to_string(),
        }
    }
}

fn now() -> TimeMs {
    TimeMs::saturating(NOW_S * 1_000)
}

fn hs256(claims: &Value) -> String {
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &EncodingKey::from_secret(SECRET)).unwrap()
}

fn with_kid(algorithm: Algorithm, kid: Option<&str>, key: &EncodingKey) -> String {
    let mut header = Header::new(algorithm);
    header.kid = kid.map(str::to_owned);
    jsonwebtoken::encode(&header, &good_claims(), key).unwrap()
}

fn good_claims() -> Value {
    json!({"sub": "42", "scope": "user", "exp": NOW_S + 60, "endpoint": "phone"})
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[test]
fn a_signed_token_names_its_caller() {
    let claims = Claims::lasting(
        Uid::new(42).unwrap(),
        Scope::User,
        Some(Endpoint::new("phone").unwrap()),
        now(),
        24 * 3_600,
    );
    let token = sign(SECRET, &claims).unwrap();
    let caller = Verifier::new(Some(SECRET), None).unwrap().verify(&token, now()).unwrap();
    assert_eq!((caller.uid.get(), caller.scope), (42, Scope::User));
    assert_eq!(caller.endpoint.unwrap().as_str(), "phone");
    assert_eq!(caller.expires_at, now().plus_ms(24 * 3_600 * 1_000));
}

#[test]
fn bad_tokens_are_refused() {
    let jwks = Keys::new().jwks;
    let verifier = Verifier::new(Some(SECRET), Some(&jwks)).unwrap();
    let without = |claim: &str| {
        let mut claims = good_claims();
        claims.as_object_mut().unwrap().remove(claim);
        hs256(&claims)
    };
    let with = |claim: &str, value: Value| {
        let mut claims = good_claims();
        claims[claim] = value;
        hs256(&claims)
    };
    let good = hs256(&good_claims());
    assert!(verifier.verify(&good, now()).is_ok(), "the token that the bad ones are made from");
    let unsigned =
        |alg: &str| format!("{}.{}.", part(&json!({"alg": alg, "typ": "JWT"})), part(&good_claims()));
    let other_key = jsonwebtoken::encode(
        &Header::new(Algorithm::HS256),
        &good_claims(),
        &EncodingKey::from_secret(b"another secret, which nobody here knows of"),
    )
    .unwrap();
    let public_key_as_secret = jsonwebtoken::encode(
        &Header::new(Algorithm::HS256),
        &good_claims(),
        &EncodingKey::from_secret(jwks.as_bytes()),
    )
    .unwrap();
    let hs512 = jsonwebtoken::encode(
        &Header::new(Algorithm::HS512),
        &good_claims(),
        &EncodingKey::from_secret(SECRET),
    )
    .unwrap();
    let (head, rest) = good.split_once('.').unwrap();
    let (_, signature) = rest.split_once('.').unwrap();
    let other_claims =
        format!("{head}.{}.{signature}", part(&json!({"sub": "43", "scope": "service", "exp": NOW_S + 60})));
    for (what, token) in [
        ("empty", String::new()),
        ("no token", "nothing".to_owned()),
        ("truncated", good[..good.len() - 3].to_owned()),
        ("oversized", format!("{good}{}", "A".repeat(9_000))),
        ("alg none", unsigned("none")),
        ("alg None", unsigned("None")),
        ("HS256 without a signature", unsigned("HS256")),
        ("another key", other_key),
        ("the public keys as the secret", public_key_as_secret),
        ("another algorithm of the secret", hs512),
        ("other claims under the signature", other_claims),
        ("no sub", without("sub")),
        ("no scope", without("scope")),
        ("no exp", without("exp")),
        ("expired", with("exp", json!(NOW_S))),
        ("expired long ago", with("exp", json!(0))),
        ("negative exp", with("exp", json!(-1))),
        ("exp as text", with("exp", json!("tomorrow"))),
        ("not begun", with("nbf", json!(NOW_S + 10))),
        ("unknown scope", with("scope", json!("root"))),
        ("several scopes", with("scope", json!("user service"))),
        ("negative sub", with("sub", json!("-1"))),
        ("sub that is no uid", with("sub", json!("alice"))),
        ("sub out of range", with("sub", json!("9223372036854775808"))),
        ("endpoint of 65 bytes", with("endpoint", json!("e".repeat(65)))),
        ("empty endpoint", with("endpoint", json!(""))),
    ] {
        assert!(verifier.verify(&token, now()).is_err(), "{what} must be refused: {token}");
    }
}

#[test]
fn public_keys_check_their_own_algorithm() {
    let Keys { rs256, es256, eddsa, jwks } = Keys::new();
    let other = Keys::new().eddsa;
    let verifier = Verifier::new(None, Some(&jwks)).unwrap();
    for (algorithm, kid, key) in [
        (Algorithm::RS256, Some("rsa-1"), &rs256),
        (Algorithm::ES256, Some("ec-1"), &es256),
        (Algorithm::EdDSA, Some("ed-1"), &eddsa),
        (Algorithm::EdDSA, None, &eddsa),
    ] {
        let caller = verifier.verify(&with_kid(algorithm, kid, key), now());
        assert_eq!(caller.expect("a good token").uid.get(), 42, "{algorithm:?} {kid:?}");
    }
    for (what, token) in [
        ("another key", with_kid(Algorithm::EdDSA, Some("ed-1"), &other)),
        ("an unknown kid", with_kid(Algorithm::EdDSA, Some("ed-2"), &eddsa)),
        ("the kid of a key of another kind", with_kid(Algorithm::EdDSA, Some("rsa-1"), &eddsa)),
        (
            "an algorithm of the same key that is not accepted",
            with_kid(Algorithm::RS512, Some("rsa-1"), &rs256),
        ),
        ("a secret, where none is configured", hs256(&good_claims())),
    ] {
        assert_eq!(verifier.verify(&token, now()), Err(AuthError::WrongKey), "{what}");
    }
}

#[test]
fn keys_that_can_t_be_used_are_named() {
    let bad =
        |secret: Option<&[u8]>, jwks: Option<&str>| Verifier::new(secret, jwks).err().map(|e| e.to_string());
    assert!(bad(None, None).unwrap().contains("no key"));
    assert!(bad(Some(b""), None).unwrap().contains("empty"));
    assert!(bad(None, Some("{}")).unwrap().contains("no JSON Web Key Set"));
    let symmetric = json!({"keys": [{"kty": "oct", "kid": "k", "k": "c2VjcmV0"}]}).to_string();
    assert!(bad(None, Some(&symmetric)).unwrap().contains("\"k\""), "names the key");
    let encryption = json!({"keys": [{"kty": "RSA", "use": "enc", "n": "AQAB", "e": "AQAB"}]}).to_string();
    assert!(bad(None, Some(&encryption)).unwrap().contains("no key"), "keys of encryption are left out");
}

#[test]
fn files_are_read_as_configured() {
    let folder = tempfile::tempdir().unwrap();
    let (secret, jwks) = (folder.path().join("secret"), folder.path().join("jwks.json"));
    std::fs::write(&secret, [SECRET, b"\n"].concat()).unwrap();
    std::fs::write(&jwks, Keys::new().jwks).unwrap();
    let settings = AuthSettings { secret_file: Some(secret), jwks_file: Some(jwks) };
    let verifier = settings.verifier(Some(b"not used: a file is configured".to_vec())).unwrap();
    assert!(verifier.verify(&hs256(&good_claims()), now()).is_ok(), "the line end is no part of the secret");
    let missing = AuthSettings { secret_file: Some(folder.path().join("none")), jwks_file: None };
    assert!(matches!(missing.verifier(None), Err(KeyError::Read { .. })));
    let own = AuthSettings::default().verifier(Some(SECRET.to_vec())).unwrap();
    assert!(own.verify(&hs256(&good_claims()), now()).is_ok());
}
