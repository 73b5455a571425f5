//! Links between documents lead somewhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_docs::{files, root};
use std::path::Path;

/// Targets of `[…](…)` outside code blocks, without outside addresses.
fn links(document: &str) -> Vec<&str> {
    let outside_code = document.split("```").step_by(2);
    let targets =
        outside_code.flat_map(|text| text.split("](").skip(1)).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).collect()
}

/// Headings as anchors, the way that forges make them.
fn has_anchor(document: &str, anchor: &str) -> bool {
    document.lines().filter(|line| line.starts_with('#')).any(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept: String =
            words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).collect();
        kept.replace(' ', "-") == anchor
    })
}

#[test]
fn every_link_leads_somewhere() {
    let mut seen = 0;
    for path in files("", ".md") {
        let document = std::fs::read_to_string(&path).unwrap();
        for link in links(&document) {
            seen += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let shown = path.strip_prefix(root()).unwrap_or(Path::new("?")).display().to_string();
            assert!(target.exists(), "{shown}: {link} leads nowhere");
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&target).unwrap();
                assert!(has_anchor(&text, anchor), "{shown}: {link}: no such heading");
            }
        }
    }
    assert!(seen > 10, "links are found");
}
