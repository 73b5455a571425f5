//! Tests elsewhere that show what a scenario says.

use std::path::{Path, PathBuf};

/// Where packages are, and what their names begin with there.
const FOLDERS: [(&str, &str); 2] = [("readmark-test-", "tests"), ("readmark-", "crates")];

/// Fails when a package has no such test. It is named as `readmark-store cql::lost_answers::a_write_is_repeated`: the
/// package, then the test below `tests` (or `src`), by file and function.
pub fn check(scenario: &str, test: &str) {
    let (package, path) =
        test.split_once(' ').unwrap_or_else(|| panic!("{scenario}: {test:?} names no test"));
    let (prefix, folder) = FOLDERS
        .into_iter()
        .find(|(prefix, _)| package.starts_with(prefix))
        .unwrap_or_else(|| panic!("{scenario}: {package} is no package of this workspace"));
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join(&package[prefix.len()..]);
    let (file, function) =
        path.rsplit_once("::").unwrap_or_else(|| panic!("{scenario}: {path:?} names no file"));
    let file = file.replace("::", "/");
    let places: [PathBuf; 2] = ["tests", "src"].map(|folder| root.join(folder).join(format!("{file}.rs")));
    let text = places.iter().find_map(|place| std::fs::read_to_string(place).ok());
    let text = text.unwrap_or_else(|| panic!("{scenario}: {test:?} is not in {places:?}"));
    let is_there = text.contains(&format!("fn {function}("));
    assert!(is_there, "{scenario}: {file}.rs of {package} has no test {function}");
}
