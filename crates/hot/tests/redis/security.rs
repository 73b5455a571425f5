//! Passwords, users with few rights, TLS.

use super::{PREFIX, head, rebuilt, told, uid};
use readmark_hot::redis::{RedisHot, RedisOptions, RedisTls};
use readmark_hot::{HotErrorKind, HotState, Wakeup};
use readmark_test_services::redis::{Server, free_port};
use std::path::Path;
use std::process::Command;

async fn works(hot: &RedisHot) {
    let (watch, mut wakeups) = hot.subscribe().await.expect("subscribe");
    watch.add(uid(1)).await;
    let token = rebuilt(hot, uid(1), 1).await;
    assert_eq!(wakeups.next().await, Wakeup::User(uid(1)));
    hot.apply(&[told(uid(1), head(2))]).await.remove(0).expect("apply");
    assert!(hot.entries(uid(1), &token, 10).await.expect("entries").complete().is_some());
    hot.touch(uid(1)).await.expect("touch");
    hot.probe().await.expect("probe");
    assert_eq!(hot.usage().await.expect("usage").users, 1);
    hot.forget_all().await.expect("forget_all");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_password() {
    let server = Server::start_with(&["--requirepass", "geheim"]).await;
    let with = |url: String, password: Option<&str>| {
        let options =
            RedisOptions { password: password.map(str::to_owned), ..RedisOptions::new(&url, PREFIX) };
        async move { RedisHot::open(&options).await }
    };
    for url in [server.url(), format!("redis://:falsch@127.0.0.1:{}", server.port)] {
        let error = with(url, None).await.expect_err("no password");
        assert_eq!(error.kind, HotErrorKind::Refused, "{error}");
        assert!(!error.to_string().contains("falsch"), "{error}");
    }
    works(&with(format!("redis://:geheim@127.0.0.1:{}", server.port), None).await.expect("open")).await;
    works(&with(server.url(), Some("geheim")).await.expect("open")).await;
}

/// The rights that docs/redis.md asks for are enough, and no more are needed.
#[tokio::test(flavor = "multi_thread")]
async fn with_few_rights() {
    let server = Server::start_with(&["--requirepass", "geheim"]).await;
    let admin = redis::Client::open(format!("redis://:geheim@127.0.0.1:{}", server.port)).expect("client");
    let mut admin = admin.get_multiplexed_async_connection().await.expect("connect");
    let rights = [
        "on",
        ">wort",
        "resetchannels",
        &format!("~{PREFIX}:*"),
        &format!("&{PREFIX}:*"),
        "-@all",
        "+@read",
        "+@write",
        "+@pubsub",
        "+@connection",
        "+eval",
        "+evalsha",
        "+info",
        "+time",
        "+cluster|slots",
    ];
    let mut command = redis::cmd("ACL");
    command.arg("SETUSER").arg("readmark").arg(&rights);
    command.exec_async(&mut admin).await.expect("ACL SETUSER");
    let url = format!("redis://readmark:wort@127.0.0.1:{}", server.port);
    works(&RedisHot::open(&RedisOptions::new(&url, PREFIX)).await.expect("open")).await;
    let elsewhere = RedisHot::open(&RedisOptions::new(&url, "other")).await.expect("open");
    let error = elsewhere.begin_rebuild(uid(1)).await.expect_err("not its keys");
    assert_eq!(error.kind, HotErrorKind::Refused, "{error}");
}

fn openssl(directory: &Path, arguments: &str) {
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(directory).output();
    let output = output.expect("this test needs openssl");
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An authority, and two certificates of it: a server's for the loopback address and a client's.
fn certificates(directory: &Path) {
    openssl(
        directory,
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=test-ca",
    );
    std::fs::write(directory.join("san"), "subjectAltName=IP:127.0.0.1").expect("write");
    for name in ["server", "client"] {
        openssl(
            directory,
            &format!("req -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}"),
        );
        let sign = "x509 -req -days 2 -CA ca.pem -CAkey ca.key -CAcreateserial -extfile san";
        openssl(directory, &format!("{sign} -in {name}.csr -out {name}.pem"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_tls() {
    let directory = tempfile::tempdir().expect("a folder");
    certificates(directory.path());
    let file = |name: &str| directory.path().join(name);
    let shown = |name: &str| file(name).display().to_string();
    let port = free_port();
    let (ca, certificate, key) = (shown("ca.pem"), shown("server.pem"), shown("server.key"));
    let _server = Server::start_with(&[
        "--tls-port",
        &port.to_string(),
        "--tls-ca-cert-file",
        &ca,
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-auth-clients",
        "yes",
    ])
    .await;
    let url = format!("rediss://127.0.0.1:{port}");
    let client = Some((file("client.pem"), file("client.key")));
    let with = |tls: RedisTls| {
        let options = RedisOptions { tls, ..RedisOptions::new(&url, PREFIX) };
        async move { RedisHot::open(&options).await }
    };
    works(&with(RedisTls { ca: Some(file("ca.pem")), client: client.clone() }).await.expect("open")).await;
    for (name, tls) in [
        ("an authority that is not known", RedisTls { ca: None, client: client.clone() }),
        ("no certificate of the client's", RedisTls { ca: Some(file("ca.pem")), client: None }),
    ] {
        with(tls).await.expect_err(name);
    }
    let error = with(RedisTls { ca: Some(file("none.pem")), client: None }).await.expect_err("no file");
    assert!(error.kind == HotErrorKind::Refused && error.to_string().contains("none.pem"), "{error}");
}
