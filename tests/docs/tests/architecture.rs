//! `ARCHITECTURE.md` names what there is: crates, topics, facts, tables, invariants.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_domain::fact::{AckFact, ConversationFact, MarkFact};
use readmark_domain::invariant;
use readmark_events::{ConversationChanged, Fact, ReadChanged, Topic};
use readmark_test_docs::{in_backticks, product_sources, root, text};

fn page() -> String {
    let page = text("ARCHITECTURE.md");
    page.split("```").step_by(2).collect()
}

#[test]
fn every_crate_has_its_place() {
    let page = page();
    let named = in_backticks(&page);
    for folder in ["crates", "tests"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let entry = entry.unwrap();
            if entry.path().join("Cargo.toml").exists() {
                let name = format!("{folder}/{}", entry.file_name().display());
                assert!(named.contains(&name.as_str()), "{name} is not in the code map");
            }
        }
    }
}

#[test]
fn every_path_exists() {
    let page = page();
    let paths = in_backticks(&page).into_iter().filter(|word| {
        let first = word.split('/').next().unwrap_or_default();
        ["crates", "tests", "docs", "schemas", "scripts"].contains(&first)
            && word.contains('/')
            && !word.contains('*')
    });
    for path in paths {
        assert!(root().join(path).exists(), "{path} is not there");
    }
}

#[test]
fn every_topic_and_fact_is_named() {
    let page = page();
    let named = in_backticks(&page);
    let kinds = [
        ConversationFact::KINDS,
        AckFact::KINDS,
        MarkFact::KINDS,
        ConversationChanged::KINDS,
        ReadChanged::KINDS,
    ];
    for name in Topic::ALL.into_iter().map(Topic::as_str).chain(kinds.into_iter().flatten().copied()) {
        assert!(named.contains(&name), "{name} is not named");
    }
}

#[test]
fn every_table_is_named() {
    let page = page();
    let named = in_backticks(&page);
    let mut seen = 0;
    for source in product_sources() {
        for rest in source.split("Table::new(\"").skip(1) {
            seen += 1;
            let table = rest.split('"').next().unwrap_or_default();
            assert!(named.contains(&table), "the table {table} is not named");
        }
    }
    assert!(seen > 10, "the sources name {seen} tables");
}

#[test]
fn every_invariant_is_on_both_pages() {
    for page in ["ARCHITECTURE.md", "README.md"] {
        let page = text(page);
        for invariant in invariant::ALL {
            assert!(page.contains(&format!("| {} |", invariant.id)), "{} is missing", invariant.id);
        }
    }
}
