//! Where a request carries its token.

use crate::auth::AuthError;
use axum::http::{HeaderMap, header};

/// What a subprotocol of a WebSocket begins with that carries a token: browsers can set no header there.
const SUBPROTOCOL: &str = "bearer.";

/// The token of a request: in `Authorization: Bearer …`, or, of a WebSocket, as the subprotocol `bearer.…`.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<&str, AuthError> {
    match headers.get(header::AUTHORIZATION) {
        Some(value) => {
            let value = value.to_str().map_err(|_| AuthError::Malformed)?;
            let (scheme, token) = value.split_once(' ').ok_or(AuthError::Missing)?;
            if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(AuthError::Missing) }
        }
        None => subprotocols(headers).find_map(|one| one.strip_prefix(SUBPROTOCOL)).ok_or(AuthError::Missing),
    }
}

fn subprotocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).into_iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[(&'static str, &str)]) -> Option<String> {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")))
            .collect();
        bearer(&headers).ok().map(str::to_owned)
    }

    #[test]
    fn in_a_header_or_a_subprotocol() {
        assert_eq!(of(&[("authorization", "Bearer a.b.c")]).as_deref(), Some("a.b.c"));
        assert_eq!(of(&[("sec-websocket-protocol", "readmark.v1, bearer.a.b.c")]).as_deref(), Some("a.b.c"));
        assert_eq!(of(&[("authorization", "Basic x"), ("sec-websocket-protocol", "bearer.a")]), None);
        assert_eq!(of(&[("sec-websocket-protocol", "readmark.v1")]), None);
        assert_eq!(of(&[]), None);
    }
}
