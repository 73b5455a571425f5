//! The addresses: free, or taken by a readmark that is ready.

use super::Finding;
use crate::config::Config;
use crate::http_get::{Answer, http_get};
use axum::http::StatusCode;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

const CHECK: &str = "listen";
/// How long a readmark may take to say whether it is ready: its own checks take 2 s at most.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let mut findings = vec![of_address("listen", config.listen, config).await];
    if let Some(admin) = config.admin_listen {
        findings.push(of_address("admin_listen", admin, config).await);
    }
    findings
}

async fn of_address(key: &str, address: SocketAddr, config: &Config) -> Finding {
    match TcpListener::bind(address).await {
        Ok(_) if address.port() == 0 => {
            Finding::ok(CHECK, format!("{}: the system chooses a port", address.ip()))
        }
        Ok(_) => Finding::ok(CHECK, format!("{address} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => taken(key, address, config).await,
        Err(error) => Finding::failed(
            CHECK,
            format!("{address}: {error}"),
            format!("set {key} to an address of this machine"),
        ),
    }
}

async fn taken(key: &str, address: SocketAddr, config: &Config) -> Finding {
    let operation = config.admin_listen.unwrap_or(address);
    let asking = async {
        let stream = TcpStream::connect(operation).await.map_err(|error| error.to_string())?;
        http_get(stream, "/readyz").await
    };
    let late = |_| Err("no answer".to_owned());
    let asked = tokio::time::timeout(ANSWER_WITHIN, asking).await.unwrap_or_else(late);
    match asked {
        Ok(Answer { status: StatusCode::OK, body }) if body == "ready\n" => {
            Finding::ok(CHECK, format!("a readmark serves on {address} and is ready"))
        }
        Ok(Answer { status: StatusCode::SERVICE_UNAVAILABLE, body })
            if body.contains("readmark:problem:not-ready") =>
        {
            let missing = missing(&body).unwrap_or(body);
            Finding::warning(
                CHECK,
                format!("a readmark serves on {address} and is not ready: {missing}"),
                "see what it misses above, or in its log",
            )
        }
        Ok(_) | Err(_) => Finding::failed(
            CHECK,
            format!("{address} is taken by another program"),
            format!("end it, or set {key}"),
        ),
    }
}

/// What a readiness answer says is missing.
fn missing(body: &str) -> Option<String> {
    let problem: serde_json::Value = serde_json::from_str(body).ok()?;
    let items = problem["items"].as_array()?.iter();
    let words = items.map(|item| {
        format!("{}: {}", item["field"].as_str().unwrap_or(""), item["detail"].as_str().unwrap_or(""))
    });
    Some(words.collect::<Vec<_>>().join("; "))
}
