//! The TypeScript client: builds it and runs its own tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_harness::binary;
use std::path::Path;
use std::process::Command;

#[test]
fn the_typescript_client_builds_and_passes_its_tests() {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/typescript");
    let status = Command::new(client.join("scripts/run"))
        .args(["build", "test"])
        .env("READMARK_BIN", binary())
        // Node's test runner would take itself for one of another runner.
        .env_remove("NODE_TEST_CONTEXT")
        .status()
        .expect("a script of the repository can be started");
    assert!(status.success(), "clients/typescript/scripts/run build test: {status}; what it says is above");
}
