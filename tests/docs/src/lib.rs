//! What the tests of the documents share: the documents, the sources, the program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

pub mod json_schema;

use readmark_test_harness::{binary, command};
use std::path::{Path, PathBuf};
use std::process::Output;

/// Folders that hold nothing of ours.
const FOREIGN: [&str; 3] = ["target", ".git", "node_modules"];

/// The repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// The text of a file of the repository.
#[must_use]
pub fn text(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every file below a folder of the repository whose name ends so, in order.
#[must_use]
pub fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&root().join(folder), ending, &mut found);
    found.sort();
    assert!(!found.is_empty(), "no {ending} below {folder}");
    found
}

fn walk(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !FOREIGN.contains(&name.as_str()) {
            walk(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

/// The product's sources, without their unit tests.
#[must_use]
pub fn product_sources() -> Vec<String> {
    let sources =
        files("crates", ".rs").into_iter().filter(|path| path.components().any(|c| c.as_os_str() == "src"));
    let without_tests = |text: String| text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
    sources.map(|path| without_tests(std::fs::read_to_string(path).expect("a source"))).collect()
}

/// What is in backticks in a text, in order.
#[must_use]
pub fn in_backticks(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Headings `### ` of a document, each with the text below it.
#[must_use]
pub fn sections(document: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in document.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            sections.push((heading.to_owned(), String::new()));
        } else if line.starts_with('#') {
            sections.push((String::new(), String::new()));
        } else if let Some((_, body)) = sections.last_mut() {
            body.push_str(line);
            body.push('\n');
        }
    }
    sections.retain(|(heading, _)| !heading.is_empty());
    sections
}

/// A command of the program with no configuration but this, in a folder of its own.
#[must_use]
pub fn readmark(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let variables = variables.iter().copied();
    command(binary())
        .args(arguments)
        .current_dir(folder.path())
        .envs(variables)
        .output()
        .expect("readmark can be started")
}
