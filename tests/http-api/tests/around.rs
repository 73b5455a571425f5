//! What is around the calls: limits, operation routes, browsers, draining.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::routing::get;
use futures::FutureExt;
use http_body_util::BodyExt;
use prometheus::Registry;
use readmark_http::auth::Verifier;
use readmark_http::{AppParts, Check, HttpMetrics, HttpSettings, OperationParts, app, openapi, serve};
use readmark_query::QuerySettings;
use readmark_runtime::clock::SystemClock;
use readmark_runtime::ports::Rules;
use readmark_test_http_api::{Api, Mood, Token};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tower::ServiceExt;

fn api(settings: HttpSettings) -> Api {
    Api::new(Rules::default(), settings, QuerySettings::default())
}

#[tokio::test(start_paused = true)]
async fn a_user_that_calls_too_often_is_told_when_to_come_back() {
    let api = api(HttpSettings { user_requests_per_s: 1, user_burst: 2, ..HttpSettings::default() });
    for _ in 0..2 {
        assert_eq!(api.get(Token::User(8), "/v1/unread").await.status, 200);
    }
    let answer = api.get(Token::User(8), "/v1/unread").await;
    assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (429, "rate-limited"));
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(api.get(Token::User(9), "/v1/unread").await.status, 200, "others are not held back");
    for _ in 0..5 {
        assert_eq!(api.get(Token::Service, "/v1/unread?uid=8").await.status, 200, "the backend is no user");
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(api.get(Token::User(8), "/v1/unread").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_at_once_are_shed_and_not_queued() {
    let api = Arc::new(api(HttpSettings { max_in_flight: 2, ..HttpSettings::default() }));
    api.log.set_mood(Mood::NeverAnswering);
    let body = json!({"receipts": true});
    let calls = (0..3).map(|n| {
        let (api, body) = (api.clone(), body.clone());
        tokio::spawn(async move { api.put(Token::User(n), "/v1/settings", &body).await })
    });
    let answers = futures::future::join_all(calls).await;
    let slugs: Vec<String> = answers.into_iter().map(|answer| answer.unwrap().problem()).collect();
    assert_eq!(slugs, ["unavailable", "unavailable", "overloaded"], "the third was shed, the others waited");
    let health = api.get(Token::None, "/healthz").await;
    assert_eq!(health.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_is_ended() {
    let api = api(HttpSettings { request_timeout_ms: 700, ..HttpSettings::default() });
    api.log.set_mood(Mood::NeverAnswering);
    let began = tokio::time::Instant::now();
    let answer = api.put(Token::User(1), "/v1/settings", &json!({"receipts": true})).await;
    assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (503, "overloaded"));
    assert_eq!(began.elapsed().as_millis(), 700);
}

#[tokio::test(start_paused = true)]
async fn requests_are_counted_by_the_pattern_of_their_path() {
    let api = Api::default();
    api.get(Token::User(8), "/v1/conversations/some/messages/1/receipt").await;
    api.get(Token::None, "/v1/conversations/other/messages/2/receipt").await;
    api.get(Token::None, "/wp-login.php").await;
    let metrics = api.get(Token::None, "/metrics").await;
    assert!(metrics.headers["content-type"].to_str().unwrap().starts_with("text/plain"));
    for line in [
        "readmark_http_requests_total{route=\"/v1/conversations/{id}/messages/{seq}/receipt\",status=\"401\"} 1",
        "readmark_http_requests_total{route=\"/v1/conversations/{id}/messages/{seq}/receipt\",status=\"404\"} 1",
        "readmark_http_requests_total{route=\"unmatched\",status=\"404\"} 1",
    ] {
        assert!(metrics.text.lines().any(|there| there == line), "{line} in {}", metrics.text);
    }
}

#[tokio::test(start_paused = true)]
async fn browsers_may_call_from_configured_origins_only() {
    let preflight = |origin: &str| {
        Request::builder()
            .method("OPTIONS")
            .uri("/v1/acks")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,content-type")
            .body(Body::empty())
            .unwrap()
    };
    let closed = Api::default().send(preflight("https://chat.example")).await;
    assert!(!closed.headers.contains_key("access-control-allow-origin"), "none by default");
    let settings =
        HttpSettings { allowed_origins: vec!["https://chat.example".into()], ..HttpSettings::default() };
    let api = api(settings);
    let allowed = api.send(preflight("https://chat.example")).await;
    assert_eq!(allowed.status, 200);
    assert_eq!(allowed.headers["access-control-allow-origin"], "https://chat.example");
    let other = api.send(preflight("https://evil.example")).await;
    assert!(!other.headers.contains_key("access-control-allow-origin"));
}

fn parts(registry: &Registry, settings: HttpSettings) -> AppParts {
    AppParts {
        verifier: Arc::new(Verifier::new(Some(b"not used"), None).unwrap()),
        clock: Arc::new(SystemClock::default()),
        settings,
        metrics: HttpMetrics::new(registry).unwrap(),
    }
}

#[tokio::test(start_paused = true)]
async fn an_origin_that_is_none_is_named() {
    for origin in ["*", "https://*.example", "chat.example", "", "https://a\n.example"] {
        let settings = HttpSettings { allowed_origins: vec![origin.to_owned()], ..HttpSettings::default() };
        let refused = app(&parts(&Registry::new(), settings), Router::new(), None).unwrap_err();
        assert!(refused.contains(&format!("{origin:?}")), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn readiness_says_what_is_missing() {
    let check = |name: &str, answer: Option<Result<(), &'static str>>| {
        Check::new(name, move || {
            async move {
                match answer {
                    Some(answer) => answer.map_err(str::to_owned),
                    None => std::future::pending().await,
                }
            }
            .boxed()
        })
    };
    let ready = async |checks: Vec<Check>| {
        let parts = OperationParts { checks, registry: Registry::new(), openapi: openapi([]) };
        let request = Request::builder().uri("/readyz").body(Body::empty()).unwrap();
        let around = self::parts(&parts.registry, HttpSettings::default());
        let router = app(&around, Router::new(), Some(parts)).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    };
    assert_eq!(ready(vec![check("log", Some(Ok(())))]).await, (200, "ready\n".into()));
    let checks = vec![
        check("log", Some(Ok(()))),
        check("store", Some(Err("no contact point answers"))),
        check("catalog", None),
    ];
    let (status, body) = ready(checks).await;
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 503);
    assert_eq!(body["detail"], "missing: store, catalog");
    assert_eq!(body["items"][0], json!({"field": "store", "detail": "no contact point answers"}));
    assert_eq!(body["items"][1], json!({"field": "catalog", "detail": "no answer within 2 s"}));
}

/// What a connection still gets, up to its end.
async fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

async fn ask(address: std::net::SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn what_is_in_flight_is_answered_and_then_it_ends() {
    let (arrived, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait) = (arrived.clone(), go.clone());
    let slow = async move || {
        tell.notify_one();
        wait.notified().await;
        "done"
    };
    let router = Router::new().route("/slow", get(slow)).route("/quick", get(async || "quick"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let settings = HttpSettings::default();
    let server = tokio::spawn(async move { serve(listener, router, &settings, stopped.map(|_| ())).await });
    let mut idle = ask(address, "/quick").await;
    let mut first = [0; 16];
    idle.read_exact(&mut first).await.unwrap();
    let in_flight = ask(address, "/slow").await;
    arrived.notified().await;
    stop.send(()).unwrap();
    assert!(rest(idle).await.ends_with("quick"), "an idle connection is closed at once");
    assert!(!server.is_finished(), "a request is in flight");
    go.notify_one();
    assert!(rest(in_flight).await.ends_with("done"), "it is answered");
    assert!(server.await.unwrap(), "all was answered in time");
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn what_does_not_end_in_time_is_cut_off() {
    let arrived = Arc::new(Notify::new());
    let tell = arrived.clone();
    let never = async move || {
        tell.notify_one();
        std::future::pending::<&str>().await
    };
    let router = Router::new().route("/never", get(never));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let settings = HttpSettings { drain_ms: 50, ..HttpSettings::default() };
    let server = tokio::spawn(async move { serve(listener, router, &settings, stopped.map(|_| ())).await });
    let stream = ask(address, "/never").await;
    arrived.notified().await;
    stop.send(()).unwrap();
    assert!(!server.await.unwrap(), "says that it was cut off");
    assert_eq!(rest(stream).await, "");
}

/// A client that sends all before it listens gets the answer, not a broken connection.
#[tokio::test]
async fn a_body_too_large_gets_its_answer() {
    let api = Api::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let settings = HttpSettings::default();
    let router = api.router();
    let server = tokio::spawn(async move { serve(listener, router, &settings, stopped.map(|_| ())).await });
    let mut stream = TcpStream::connect(address).await.unwrap();
    let body = vec![b' '; 3 * 1024 * 1024];
    let bearer = Api::bearer(Token::User(1)).unwrap();
    let head = format!(
        "PUT /v1/settings HTTP/1.1\r\nhost: x\r\nauthorization: {bearer}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body).await.unwrap();
    assert!(rest(stream).await.starts_with("HTTP/1.1 413 "));
    stop.send(()).unwrap();
    assert!(server.await.unwrap());
}
