//! The TypeScript client: builds it, runs its own tests, and compares it with the copy that the demo page is served
//! with. `READMARK_UPDATE=1` rewrites the copy.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_harness::binary;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(script: &str) {
    let status = Command::new(root().join("clients/typescript/scripts/run"))
        .arg(script)
        .env("READMARK_BIN", binary())
        .status()
        .expect("a script of the repository can be started");
    assert!(status.success(), "clients/typescript/scripts/run {script}: {status}; what it says is above");
}

#[test]
fn the_typescript_client_builds_and_passes_its_tests_and_the_demo_page_has_it() {
    run("build");
    let built = std::fs::read(root().join("clients/typescript/dist/readmark.min.js")).expect("it was built");
    let copy = root().join("crates/demo/assets/readmark.js");
    if std::env::var_os("READMARK_UPDATE").is_some() {
        std::fs::write(&copy, &built).expect("the copy can be written");
    }
    assert!(
        std::fs::read(&copy).expect("the demo page has a copy") == built,
        "{} is not the client as it is built: READMARK_UPDATE=1 rewrites it",
        copy.display()
    );
    run("test");
}
