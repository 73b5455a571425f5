//! Tests elsewhere that show what a scenario says.

use std::path::{Path, PathBuf};

/// Fails when a package has no such test. It is named as `readmark-store cql::lost_answers::a_write_is_repeated`: the
/// package, then the test below `tests` (or `src`), by file and function.
pub fn check(scenario: &str, test: &str) {
    let (package, path) =
        test.split_once(' ').unwrap_or_else(|| panic!("{scenario}: {test:?} names no test"));
    let (file, function) =
        path.rsplit_once("::").unwrap_or_else(|| panic!("{scenario}: {path:?} names no file"));
    let places = places(package, &file.replace("::", "/"));
    let text = places.iter().find_map(|place| std::fs::read_to_string(place).ok());
    let text = text.unwrap_or_else(|| panic!("{scenario}: {test:?} is in none of {places:?}"));
    let is_there = text.contains(&format!("fn {function}("));
    assert!(is_there, "{scenario}: {file}.rs of {package} has no test {function}");
}

/// Packages of tests lie below `tests`, all others below `crates`.
fn places(package: &str, file: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let name = package.trim_start_matches("readmark-");
    let packages =
        [root.join("crates").join(name), root.join("tests").join(name.trim_start_matches("test-"))];
    let below =
        |package: &PathBuf| ["tests", "src"].map(|folder| package.join(folder).join(format!("{file}.rs")));
    packages.iter().flat_map(below).collect()
}
