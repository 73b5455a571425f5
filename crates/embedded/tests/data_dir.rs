//! What a data directory accepts and what it says when it does not.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_embedded::{DataDir, DataDirError};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn it_is_created_for_its_owner_only_and_opened_again() {
    let parent = TempDir::new().unwrap();
    let path = parent.path().join("a").join("b");
    let data = DataDir::open(&path).unwrap();
    assert_eq!(mode(&path), 0o700);
    assert_eq!(std::fs::read_to_string(path.join("FORMAT")).unwrap(), "readmark-data 1\n");
    for file in
        [data.log_file(), data.store_file(), data.secret_file(), data.admin_socket(), data.listen_file()]
    {
        assert_eq!(file.parent(), Some(path.as_path()));
    }
    std::fs::write(data.log_file(), "anything").unwrap();
    drop(data);
    DataDir::open(&path).unwrap();
}

#[test]
fn an_empty_directory_is_taken_and_restricted() {
    let path = TempDir::new().unwrap();
    std::fs::set_permissions(path.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    DataDir::open(path.path()).unwrap();
    assert_eq!(mode(path.path()), 0o700);
}

#[test]
fn a_first_start_that_was_killed_is_begun_again() {
    let path = TempDir::new().unwrap();
    std::fs::write(path.path().join("LOCK"), "").unwrap();
    std::fs::write(path.path().join("FORMAT.new"), "readm").unwrap();
    DataDir::open(path.path()).unwrap();
    DataDir::open(path.path()).unwrap();
}

#[test]
fn a_newer_format_is_named() {
    let path = TempDir::new().unwrap();
    std::fs::write(path.path().join("FORMAT"), "readmark-data 7\n").unwrap();
    let error = DataDir::open(path.path()).expect_err("it is newer");
    assert!(matches!(error, DataDirError::Newer { found: 7, .. }), "{error}");
    assert!(error.to_string().contains("format 7, newer than format 1"), "{error}");
}

#[test]
fn what_is_not_ours_is_left_alone() {
    for format in ["", "readmark-data", "readmark-data 0", "readmark-data one", "mysql 8", "\u{0}\u{0}"] {
        let path = TempDir::new().unwrap();
        std::fs::write(path.path().join("FORMAT"), format).unwrap();
        let error = DataDir::open(path.path()).expect_err("unknown");
        assert!(matches!(error, DataDirError::Foreign { .. }), "{format:?}: {error}");
    }
    let path = TempDir::new().unwrap();
    std::fs::write(path.path().join("photo.jpg"), "x").unwrap();
    let error = DataDir::open(path.path()).expect_err("somebody's photos");
    assert!(error.to_string().contains("photo.jpg"), "{error}");
    assert_eq!(std::fs::read_dir(path.path()).unwrap().count(), 1, "nothing was put there");

    let file = path.path().join("photo.jpg");
    let error = DataDir::open(&file).expect_err("a file");
    assert!(error.to_string().contains("not a directory"), "{error}");
}

/// Set for the child process that holds the directory.
const CHILD_HOLDS: &str = "READMARK_TEST_CHILD_HOLDS";

/// Not a test of its own: the process that holds the directory until it is killed.
#[test]
fn holding_child() {
    let Ok(path) = std::env::var(CHILD_HOLDS) else { return };
    let _data = DataDir::open(path).unwrap();
    std::io::stderr().write_all(b"HELD\n").unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

#[test]
fn another_process_finds_it_in_use_until_the_first_is_gone() {
    let path = TempDir::new().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "holding_child", "--nocapture"])
        .env(CHILD_HOLDS, path.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "HELD\n");
    let error = DataDir::open(path.path()).expect_err("the child has it");
    assert!(matches!(error, DataDirError::InUse(_)), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    DataDir::open(path.path()).expect("a killed process holds nothing");
}

/// Set for the child process whose mount is read-only.
const CHILD_READ_ONLY: &str = "READMARK_TEST_CHILD_READ_ONLY";

/// Not a test of its own: opens a directory on a read-only file system.
#[test]
fn read_only_child() {
    let Ok(path) = std::env::var(CHILD_READ_ONLY) else { return };
    for path in [Path::new(&path).to_owned(), Path::new(&path).join("new")] {
        let error = DataDir::open(&path).expect_err("it can't be written");
        assert!(matches!(error, DataDirError::Unwritable { .. }), "{error}");
        assert!(error.to_string().contains("read-only"), "{error}");
    }
    println!("READ-ONLY REFUSED");
}

/// In a mount namespace of a child, because root writes wherever it likes. Where the system does not permit
/// that, this says so.
#[test]
fn a_read_only_directory_is_named() {
    let directory = TempDir::new().unwrap();
    let script = r#"mount -t tmpfs -o ro tmpfs "$1" || exit 77; shift; exec "$@""#;
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .arg(directory.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "read_only_child", "--nocapture"])
        .env(CHILD_READ_ONLY, directory.path())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return eprintln!("not run: no unshare here ({error})"),
    };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(77) || err.contains("unshare:") {
        return eprintln!("not run: no mount namespace permitted here ({err})");
    }
    assert!(output.status.success() && out.contains("READ-ONLY REFUSED"), "{out}\n{err}");
}
