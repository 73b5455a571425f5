//! `readmark token` without a secret to sign with.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use readmark_test_commands::{Ended, readmark};

fn token(env: &[(&str, &str)]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty"), "").unwrap();
    let env: Vec<_> = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    readmark(&["token", "--uid", "7"], &env, folder.path())
}

/// As `serve` says of the same file.
#[test]
fn a_configured_secret_that_can_not_be_used_is_wrong_configuration() {
    for file in ["nowhere", "empty"] {
        token(&[("READMARK_AUTH__SECRET_FILE", file)]).expect_one_line(2, &[file]);
    }
}

#[test]
fn before_the_first_start_there_is_none() {
    token(&[]).expect_one_line(1, &["readmark-data/secret", "`readmark up`"]);
}
