//! Runs `page/demo.test.mjs`. Screenshots lie in `target/demo-screenshots`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_harness::binary;
use std::path::Path;
use std::process::Command;

#[test]
fn the_page_shows_what_happens_and_is_right_again_after_a_crash() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    let status = Command::new(page.join("run"))
        .env("READMARK_BIN", binary())
        .status()
        .expect("a script of the repository can be started");
    assert!(status.success(), "tests/demo/page/run: {status}; what it says is above");
}
