//! Every released record stays readable for ever: `golden/v<version>/<kind>.json` is a record as somebody may
//! have written it, `<kind>.expected.json` what it means, written by this program.
//!
//! A golden file is never changed. For a new kind or version write the record by hand;
//! `READMARK_UPDATE=1 cargo test -p readmark-events --test golden` adds the twin where there is none.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at what is impossible"
)]

use readmark_domain::fact::{AckFact, ConversationFact, MarkFact};
use readmark_events::{
    ConversationChanged, DeadLetterHeaders, Fact, RECORD_VERSION, ReadChanged, decode, encode,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn folder(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/v{version}"))
}

/// Checks the golden files of one topic in one version; gives back their names.
fn check<F: Fact>(version: u32) -> Vec<String> {
    let mut names = Vec::new();
    for kind in F::KINDS {
        let path = folder(version).join(format!("{kind}.json"));
        let golden = std::fs::read(&path).unwrap_or_else(|error| {
            panic!("{kind} of version {version} has no golden file {}: {error}", path.display())
        });
        let key =
            serde_json::from_slice::<F>(&golden).unwrap_or_else(|e| panic!("{}: {e}", path.display())).key();
        let fact: F =
            decode(Some(key.as_bytes()), &golden).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let meant: Value =
            serde_json::from_slice(&encode(&fact).expect("was read within the limits")).unwrap();
        assert_eq!(meant[F::TAG], **kind, "{}", path.display());
        let twin = folder(version).join(format!("{kind}.expected.json"));
        if !twin.exists() && std::env::var_os("READMARK_UPDATE").is_some_and(|value| value == "1") {
            std::fs::write(&twin, format!("{meant:#}\n")).expect("the repository is writable");
        }
        let expected =
            std::fs::read(&twin).unwrap_or_else(|error| panic!("no twin {}: {error}", twin.display()));
        assert_eq!(meant, serde_json::from_slice::<Value>(&expected).unwrap(), "{}", path.display());
        let again: F = decode(Some(key.as_bytes()), &expected).expect("what is written can be read");
        assert_eq!(
            serde_json::from_slice::<Value>(&encode(&again).unwrap()).unwrap(),
            meant,
            "{}",
            path.display()
        );
        names.extend([format!("{kind}.json"), format!("{kind}.expected.json")]);
    }
    names
}

/// The version written today, and every version before it.
#[test]
fn every_kind_of_every_version_has_a_golden_file() {
    for version in 1..=RECORD_VERSION {
        let mut wanted: Vec<String> = vec!["dead_letter_headers.json".to_owned()];
        wanted.extend(check::<ConversationFact>(version));
        wanted.extend(check::<AckFact>(version));
        wanted.extend(check::<MarkFact>(version));
        wanted.extend(check::<ConversationChanged>(version));
        wanted.extend(check::<ReadChanged>(version));
        let files = std::fs::read_dir(folder(version)).expect("the folder is there");
        let present: BTreeSet<String> =
            files.map(|entry| entry.unwrap().file_name().into_string().expect("plain names")).collect();
        assert_eq!(
            present,
            wanted.iter().cloned().collect(),
            "a golden file that nothing reads, or a kind twice"
        );
        assert_eq!(present.len(), wanted.len(), "two kinds of one name");
    }
}

#[test]
fn headers_of_dead_letters_stay_readable() {
    let golden = std::fs::read(folder(1).join("dead_letter_headers.json")).unwrap();
    let headers: Vec<(String, String)> = serde_json::from_slice(&golden).unwrap();
    let read = DeadLetterHeaders::from_headers(&headers).expect("all there");
    assert_eq!((read.reason.as_str(), read.source.offset, read.attempts), ("malformed", 41, 1));
    assert_eq!(read.to_headers(), headers);
    for missing in (0..headers.len()).filter(|at| headers[*at].0 != "detail") {
        let mut fewer = headers.clone();
        let (name, _) = fewer.remove(missing);
        assert_eq!(DeadLetterHeaders::from_headers(&fewer), None, "{name} is missing");
    }
}
