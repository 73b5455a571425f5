//! Who is let in, and how a token is shown.

use crate::common::group;
use readmark_test_harness::{DEADLINE, Options, Server, now_ms, token, wait_until};
use readmark_test_live::{Refused, Wire};
use serde_json::{Value, json};

type Headers<'a> = &'a [(&'a str, &'a str)];

const SUBPROTOCOL: &str = "sec-websocket-protocol";

fn claims(fields: &[(&str, Value)]) -> Value {
    let mut claims = json!({"sub": "8", "scope": "user", "endpoint": "phone", "exp": token::expires_at_s()});
    fields.iter().for_each(|(name, value)| claims[*name] = value.clone());
    claims
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_comes_in_the_header_or_as_a_subprotocol() {
    let server = Server::fresh().await;
    group(&server).await;
    let (to, secret) = (server.listen().unwrap(), server.secret());
    let good = token::user(&secret, 8, "phone");
    let (in_header, as_protocol) = (format!("Bearer {good}"), format!("readmark.v1, bearer.{good}"));
    let reversed = format!("bearer.{good}, readmark.v1");

    let ways: [(Headers<'_>, Option<&str>); 4] = [
        (&[("authorization", &in_header)], None),
        (&[("authorization", &in_header), (SUBPROTOCOL, "readmark.v1")], Some("readmark.v1")),
        (&[(SUBPROTOCOL, &as_protocol)], Some("readmark.v1")),
        (&[(SUBPROTOCOL, &reversed)], Some("readmark.v1")),
    ];
    for (headers, selected) in ways {
        let mut wire = Wire::with_headers(to, headers)
            .await
            .unwrap_or_else(|refused| panic!("{headers:?}: {refused:?}"));
        assert_eq!(wire.subprotocol.as_deref(), selected, "the token is never sent back");
        wire.hello(None).await;
        assert_eq!(wire.frame().await["snapshot"]["total"], "2");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_is_let_in() {
    let server = Server::fresh().await;
    let (to, secret) = (server.listen().unwrap(), server.secret());
    let signed = |fields: &[(&str, Value)]| token::sign(&secret, &claims(fields));
    let over = json!(now_ms() / 1_000 - 1);
    let tokens = [
        (signed(&[("exp", over)]), 401),
        (signed(&[("scope", json!("service"))]), 403),
        (signed(&[("scope", json!("admin"))]), 403),
        (signed(&[("sub", json!("nobody"))]), 401),
        (token::user(b"another secret, as long as it must be", 8, "phone"), 401),
        (token::forge(&json!({"alg": "none", "typ": "JWT"}), &claims(&[]), b""), 401),
        ("x".repeat(9_000), 401),
    ];
    for (token, status) in &tokens {
        for headers in [
            ("authorization", format!("Bearer {token}")),
            (SUBPROTOCOL, format!("readmark.v1, bearer.{token}")),
        ] {
            let refused = Wire::with_headers(to, &[(headers.0, &headers.1)]).await.err();
            assert_eq!(refused, Some(Refused::Status(*status)), "{headers:?}");
        }
    }
    for headers in [
        &[][..],
        &[("authorization", "Bearer")],
        &[(SUBPROTOCOL, "readmark.v1")],
        &[(SUBPROTOCOL, "bearer.")],
    ] {
        assert_eq!(Wire::with_headers(to, headers).await.err(), Some(Refused::Status(401)), "{headers:?}");
    }

    // A call that is no WebSocket is told so, and who may not call is told that first.
    let plain = server.as_user(8, "phone").get("/v1/ws").await;
    assert_eq!((plain.status, plain.problem().as_str()), (422, "malformed"), "{plain}");
    assert_eq!(server.anonymous().get("/v1/ws").await.status, 401);
    let good = token::user(&secret, 8, "phone");
    assert_eq!(
        server.anonymous().get(&format!("/v1/ws?token={good}")).await.status,
        401,
        "never in an address"
    );
    assert_eq!(server.as_user(8, "phone").post("/v1/ws", &json!({})).await.status, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_holds_only_so_many_connections() {
    let server = Server::start(Options::default().env("READMARK_GATEWAY__MAX_CONNECTIONS", "2")).await;
    let (to, secret) = (server.listen().unwrap(), server.secret());
    let open = |uid: u64| {
        let token = token::user(&secret, uid, "phone");
        async move { Wire::open(to, &token).await }
    };
    let (first, second) = (open(1).await.ok(), open(2).await.ok());
    assert!(first.is_some() && second.is_some());
    assert_eq!(open(3).await.err(), Some(Refused::Status(503)));
    drop(first);
    wait_until(DEADLINE, "the room to be free", || async {
        open(3).await.map(drop).map_err(|refused| format!("{refused:?}"))
    })
    .await;
}
