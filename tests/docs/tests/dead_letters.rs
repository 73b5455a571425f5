//! `docs/dead-letters.md` explains every word that a dead letter may carry, and no other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_docs::{in_backticks, product_sources, sections, text};
use std::collections::BTreeSet;

/// The words of the sources: what is given to `Reason::new`, and what `DecodeError::reason` answers.
fn words() -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for source in product_sources() {
        let of_roles =
            source.split("Reason::new(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
        let decode =
            source.split("const fn reason(&self)").nth(1).and_then(|rest| rest.split("\n    }\n").next());
        let of_decode = decode.unwrap_or_default().split("=> \"").skip(1);
        words.extend(of_roles.chain(of_decode).filter_map(|rest| rest.split('"').next()).map(str::to_owned));
    }
    words
}

#[test]
fn every_word_is_explained() {
    let document = text("docs/dead-letters.md");
    let explained: BTreeSet<String> = sections(&document)
        .iter()
        .map(|(heading, body)| {
            assert!(!body.trim().is_empty(), "{heading} is explained");
            in_backticks(heading).first().map(|word| (*word).to_owned()).expect("a word in backticks")
        })
        .collect();
    let words = words();
    assert!(words.contains("malformed") && words.contains("seq-conflict"), "the sources are read: {words:?}");
    assert_eq!(explained, words);
    let counted: BTreeSet<String> =
        readmark_runtime::dead_letter::REASONS.into_iter().map(str::to_owned).collect();
    assert_eq!(counted, words, "the counter shows every word from the start");
}
