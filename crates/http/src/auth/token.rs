use super::KeyError;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use readmark_domain::id::{Endpoint, Uid};
use readmark_domain::time::TimeMs;
use serde::{Deserialize, Serialize};

/// What a token may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// A reader and sender.
    User,
    /// The IM backend.
    Service,
    /// An operator.
    Admin,
}

impl std::str::FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "user" => Ok(Self::User),
            "service" => Ok(Self::Service),
            "admin" => Ok(Self::Admin),
            other => Err(format!("no scope {other:?}: user, service or admin")),
        }
    }
}

/// The claims of a token that readmark signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The uid, in decimal.
    pub sub: Uid,
    /// What it may be used for.
    pub scope: Scope,
    /// When it ends, in seconds since 1970.
    pub exp: u64,
    /// The device, for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
}

impl Claims {
    /// Claims that end `ttl_s` seconds after `now`.
    #[must_use]
    pub const fn lasting(
        uid: Uid,
        scope: Scope,
        endpoint: Option<Endpoint>,
        now: TimeMs,
        ttl_s: u64,
    ) -> Self {
        Self { sub: uid, scope, exp: (now.get() / 1_000).saturating_add(ttl_s), endpoint }
    }
}

/// Signs a token with HS256.
///
/// # Errors
/// [`KeyError::Sign`] when the secret can't be used.
pub fn sign(secret: &[u8], claims: &Claims) -> Result<String, KeyError> {
    let header = Header::new(Algorithm::HS256);
    jsonwebtoken::encode(&header, claims, &EncodingKey::from_secret(secret)).map_err(KeyError::Sign)
}
