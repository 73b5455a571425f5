use crate::auth::{Caller, Scope};
use crate::limits::Allowance;
use crate::problem::{Kind, Problem};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use readmark_domain::id::{Endpoint, Uid};
use readmark_domain::time::TimeMs;

/// A user, by a token of scope `user`.
#[derive(Debug, Clone)]
pub struct User {
    /// Who.
    pub uid: Uid,
    /// From which device.
    pub endpoint: Option<Endpoint>,
}

/// A user's connection: it may stay as long as its token.
#[derive(Clone)]
pub struct Session {
    /// Who.
    pub user: User,
    /// When the token ends.
    pub expires_at: TimeMs,
    /// What the user may still ask for.
    pub allowance: Allowance,
}

/// The IM backend, by a token of scope `service`.
#[derive(Debug, Clone, Copy)]
pub struct Service;

/// Whoever may read: a user, within its rights, or the IM backend, which sees everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer {
    /// A user.
    User(Uid),
    /// The IM backend.
    Service,
}

/// The device that calls, where a user's token names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device(pub Option<Endpoint>);

fn caller(parts: &Parts) -> Result<&Caller, Problem> {
    parts.extensions.get().ok_or_else(|| Problem::new(Kind::Unauthenticated, "no bearer token"))
}

fn forbidden(needed: &str) -> Problem {
    Problem::new(Kind::Forbidden, format!("this call needs a token of scope {needed}"))
}

impl<S: Send + Sync> FromRequestParts<S> for User {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = caller(parts)?;
        match caller.scope {
            Scope::User => Ok(Self { uid: caller.uid, endpoint: caller.endpoint.clone() }),
            Scope::Service | Scope::Admin => Err(forbidden("user")),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Session {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let user = User::from_request_parts(parts, state).await?;
        let expires_at = caller(parts)?.expires_at;
        let allowance = parts.extensions.get::<Allowance>().cloned();
        let allowance = allowance.ok_or_else(|| forbidden("user"))?;
        Ok(Self { user, expires_at, allowance })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Service {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match caller(parts)?.scope {
            Scope::Service => Ok(Self),
            Scope::User | Scope::Admin => Err(forbidden("service")),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Device {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = caller(parts)?;
        Ok(Self(match caller.scope {
            Scope::User => caller.endpoint.clone(),
            Scope::Service | Scope::Admin => None,
        }))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Viewer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = caller(parts)?;
        match caller.scope {
            Scope::User => Ok(Self::User(caller.uid)),
            Scope::Service => Ok(Self::Service),
            Scope::Admin => Err(forbidden("user or service")),
        }
    }
}
