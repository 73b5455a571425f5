//! `docs/metrics.md` describes every metric of a running server, as it describes itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_docs::{product_sources, sections, text};
use readmark_test_harness::{DEADLINE, Server, now_ms, wait_until};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// What a page or a server says of a metric.
#[derive(Debug, PartialEq, Eq)]
struct Metric {
    kind: String,
    labels: BTreeSet<String>,
    help: String,
}

/// Headings are `name{label,label}` (kind), the line below begins with `> ` and is the help text.
fn documented() -> BTreeMap<String, Metric> {
    let metrics = sections(&text("docs/metrics.md")).into_iter().map(|(heading, body)| {
        let mut parts = heading.split('`');
        let name = parts.nth(1).unwrap_or_else(|| panic!("{heading}"));
        let kind = parts.next().unwrap().trim().trim_matches(['(', ')']).to_owned();
        let (name, labels) = name.split_once('{').unwrap_or((name, ""));
        let labels = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty());
        let help = body
            .lines()
            .find_map(|line| line.strip_prefix("> "))
            .unwrap_or_else(|| panic!("{name}: no help"));
        let metric = Metric { kind, labels: labels.map(str::to_owned).collect(), help: help.to_owned() };
        (name.to_owned(), metric)
    });
    metrics.collect()
}

/// What `/metrics` answers.
fn served(exposition: &str) -> BTreeMap<String, Metric> {
    let mut metrics: BTreeMap<String, Metric> = BTreeMap::new();
    let mut last = String::new();
    for line in exposition.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            last = name.to_owned();
            let metric = Metric { kind: String::new(), labels: BTreeSet::new(), help: help.to_owned() };
            metrics.insert(last.clone(), metric);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            metrics.get_mut(name).expect("help comes first").kind = kind.to_owned();
        } else if let Some((_, labels)) = line.split_once('{') {
            let names =
                labels.split("=\"").map(|part| part.rsplit(['"', ',', '{']).next().unwrap_or_default());
            let names = names.filter(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase()));
            let labels = &mut metrics.get_mut(&last).expect("help comes first").labels;
            labels.extend(names.filter(|name| *name != "le").map(str::to_owned));
        }
    }
    metrics
}

/// Makes everything happen that a labelled metric counts: until then it is not shown.
async fn make_traffic(server: &Server) {
    let now = now_ms();
    server
        .as_service()
        .events(&[
            json!({"type": "member_joined", "conversation_id": "c", "uid": "7", "at_seq": "0", "occurred_at": now}),
            json!({"type": "member_joined", "conversation_id": "c", "uid": "8", "at_seq": "0", "occurred_at": now}),
            json!({"type": "message_sent", "conversation_id": "c", "seq": "1", "msg_id": "1", "sender_uid": "7",
                   "occurred_at": now}),
            json!({"type": "member_left", "conversation_id": "c", "uid": "8", "at_seq": "0", "occurred_at": now - 9}),
        ])
        .await;
    let ack = json!({"conversation_id": "c", "messages": [{"seq": "1"}]});
    let _ = server.as_user(8, "phone").post_until_answered("/v1/acks", &ack).await.expect(202);
    server.put_record("acks", "7", b"no record").await;
}

#[tokio::test]
async fn the_page_is_what_a_server_says() {
    let server = Server::fresh().await;
    make_traffic(&server).await;
    let documented = documented();
    wait_until(DEADLINE, "every metric to be shown as it is documented", || async {
        let served = served(&server.anonymous().get("/metrics").await.expect(200).text());
        let differs = |name: &&String| served.get(*name) != documented.get(*name);
        let names: BTreeSet<&String> = served.keys().chain(documented.keys()).collect();
        match names.into_iter().find(differs) {
            None => Ok(()),
            Some(name) => {
                Err(format!("{name}: served {:?}, documented {:?}", served.get(name), documented.get(name)))
            }
        }
    })
    .await;
}

/// Names that stand as a literal of their own in the sources, and help texts: also of a metric that no traffic
/// shows.
#[test]
fn the_page_misses_none_of_the_sources() {
    let documented = documented();
    let mut seen = 0;
    for source in product_sources() {
        for literal in source.split('"').filter(|literal| literal.starts_with("readmark_")) {
            if literal.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                seen += 1;
                assert!(documented.contains_key(literal), "{literal} is not in docs/metrics.md");
            }
        }
    }
    assert!(seen >= documented.len(), "the sources name {seen} metrics");
    let sources = product_sources();
    for (name, Metric { help, .. }) in documented {
        let literal = format!("\"{help}\"");
        assert!(sources.iter().any(|source| source.contains(&literal)), "{name}: no source says {help:?}");
    }
}

/// What others watch by name, from the first second on: none may be renamed, or wait for its first count.
const PROMISED: [&str; 22] = [
    "readmark_ack_to_push_seconds",
    "readmark_ack_to_store_seconds",
    "readmark_message_to_unread_seconds",
    "readmark_receipts_total",
    "readmark_flush_receipts_total",
    "readmark_flush_statements_total",
    "readmark_message_read_total",
    "readmark_watermark_regress_total",
    "readmark_stale_facts_total",
    "readmark_windows_open",
    "readmark_consumer_lag",
    "readmark_dead_letters_total",
    "readmark_dead_letters_buried",
    "readmark_hot_users",
    "readmark_hot_memory_bytes",
    "readmark_hot_script_seconds",
    "readmark_hot_rebuilds_total",
    "readmark_websocket_connections",
    "readmark_slow_clients_closed_total",
    "readmark_http_requests_total",
    "readmark_expansion_receipts_total",
    "readmark_invariant_violations_total",
];

#[tokio::test]
async fn what_is_promised_is_there_before_anything_happens() {
    let server = Server::fresh().await;
    wait_until(DEADLINE, "every metric that is promised", || async {
        let served = served(&server.anonymous().get("/metrics").await.expect(200).text());
        let missing: Vec<&&str> = PROMISED.iter().filter(|name| !served.contains_key(**name)).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("missing: {missing:?}")) }
    })
    .await;
}

/// Alerts ask for metrics that exist.
#[test]
fn alerts_name_metrics_that_exist() {
    let documented = documented();
    let alerts = text("deploy/prometheus/alerts.yml");
    let words = alerts.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let named: BTreeSet<&str> = words.filter(|word| word.starts_with("readmark_")).collect();
    assert!(!named.is_empty());
    for name in named {
        let name =
            ["_bucket", "_count", "_sum"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(documented.contains_key(name), "{name} is not in docs/metrics.md");
    }
}
