use super::Verifier;
use crate::settings::AuthSettings;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use std::path::{Path, PathBuf};

/// Shortest secret that is not warned about: HS256 is as strong as its key, up to 256 bits.
pub const GOOD_SECRET_BYTES: usize = 32;

/// Why there are no keys to check or sign tokens with.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A file can't be read.
    #[error("can't read {path}: {source}", path = path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What is in a file can't be used.
    #[error("{path}: {source}", path = path.display())]
    InFile {
        /// Which.
        path: PathBuf,
        /// Why.
        source: Box<KeyError>,
    },
    /// The secret is empty.
    #[error("the secret of tokens is empty")]
    EmptySecret,
    /// The key set is no JSON Web Key Set.
    #[error("no JSON Web Key Set: {0}")]
    NoKeySet(#[source] serde_json::Error),
    /// A key of the set can't be used.
    #[error("the key {kid} can't be used: {detail}")]
    BadKey {
        /// Its `kid` in quotes, or that it has none.
        kid: String,
        /// Why.
        detail: String,
    },
    /// Neither a secret nor a public key.
    #[error("no key to check tokens with: give auth.secret_file or auth.jwks_file")]
    NoKey,
    /// A token can't be signed.
    #[error("can't sign the token: {0}")]
    Sign(#[source] jsonwebtoken::errors::Error),
}

/// Reads a secret from a file; line ends around it are left out.
///
/// # Errors
/// [`KeyError`], naming the file.
pub fn read_secret(path: &Path) -> Result<Vec<u8>, KeyError> {
    let bytes = std::fs::read(path).map_err(|source| KeyError::Read { path: path.to_owned(), source })?;
    let secret = bytes.trim_ascii().to_vec();
    if secret.is_empty() {
        return Err(KeyError::EmptySecret.in_file(path));
    }
    if secret.len() < GOOD_SECRET_BYTES {
        tracing::warn!(path = %path.display(), bytes = secret.len(), "the secret of tokens is short: use at least {GOOD_SECRET_BYTES} bytes");
    }
    Ok(secret)
}

impl KeyError {
    fn in_file(self, path: &Path) -> Self {
        Self::InFile { path: path.to_owned(), source: Box::new(self) }
    }
}

impl AuthSettings {
    /// Reads the keys. `own_secret` is used when no file of a secret is configured.
    ///
    /// # Errors
    /// [`KeyError`], naming the file or key.
    pub fn verifier(&self, own_secret: Option<Vec<u8>>) -> Result<Verifier, KeyError> {
        let secret = match &self.secret_file {
            Some(path) => Some(read_secret(path)?),
            None => own_secret,
        };
        let jwks = match &self.jwks_file {
            Some(path) => Some(
                std::fs::read_to_string(path)
                    .map_err(|source| KeyError::Read { path: path.clone(), source })?,
            ),
            None => None,
        };
        Verifier::new(secret.as_deref(), jwks.as_deref()).map_err(|error| match &self.jwks_file {
            Some(path) => error.in_file(path),
            None => error,
        })
    }
}

/// A public key of a key set.
pub(super) struct PublicKey {
    pub kid: Option<String>,
    pub algorithm: Algorithm,
    pub key: DecodingKey,
}

/// The keys of a set that check signatures.
pub(super) fn public_keys(jwks: &str) -> Result<Vec<PublicKey>, KeyError> {
    let set: JwkSet = serde_json::from_str(jwks).map_err(KeyError::NoKeySet)?;
    let for_signatures = set
        .keys
        .iter()
        .filter(|jwk| jwk.common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature));
    for_signatures.map(public_key).collect()
}

fn public_key(jwk: &Jwk) -> Result<PublicKey, KeyError> {
    let kid = jwk.common.key_id.clone();
    let shown = kid.as_ref().map_or_else(|| "without kid".to_owned(), |kid| format!("{kid:?}"));
    let bad = |detail: String| KeyError::BadKey { kid: shown.clone(), detail };
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
        AlgorithmParameters::EllipticCurve(_)
        | AlgorithmParameters::OctetKeyPair(_)
        | AlgorithmParameters::OctetKey(_) => {
            return Err(bad("only RSA, P-256 and Ed25519 keys check tokens".to_owned()));
        }
    };
    let key = DecodingKey::from_jwk(jwk).map_err(|error| bad(error.to_string()))?;
    Ok(PublicKey { kid, algorithm, key })
}
