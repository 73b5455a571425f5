//! Where the program is.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// Path of the `readmark` under test: `READMARK_BIN` if set, else the workspace's own debug build, brought up
/// to date first, because a test that ran an older program would say nothing.
pub fn binary() -> PathBuf {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| std::env::var_os("READMARK_BIN").map_or_else(build, PathBuf::from)).clone()
}

fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = Command::new(cargo)
        // Of the whole workspace, as the tests are: with other features everything would be built once more.
        .args(["build", "--quiet", "--workspace", "--bin", "readmark", "--message-format", "json"])
        .current_dir(root)
        .stderr(std::process::Stdio::inherit())
        .output()
        .expect("cargo can be started");
    assert!(built.status.success(), "building readmark failed");
    let messages = String::from_utf8_lossy(&built.stdout);
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "readmark")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo names the executable of readmark")
}
