//! The scenario files.

use crate::format::Scenario;
use crate::shown_by;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

/// Loads every scenario, in the order of `ids.txt`.
///
/// Fails when a file can't be read, when an id of `ids.txt` has no file or a file's id is not in it, and when
/// a scenario has nothing to do although nothing is missing, or names a test that does not exist.
#[must_use]
pub fn load() -> Vec<Scenario> {
    let ids = std::fs::read_to_string(folder().join("ids.txt")).expect("ids.txt can be read");
    let ids: Vec<&str> = ids.split_whitespace().collect();
    let mut scenarios: Vec<Scenario> = paths().iter().map(|path| scenario(path)).collect();
    let found: BTreeSet<&str> = scenarios.iter().map(|scenario| scenario.id.as_str()).collect();
    let listed: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(listed.len(), ids.len(), "ids.txt names an id twice");
    assert_eq!(found.len(), scenarios.len(), "two files have the same id");
    assert_eq!(found, listed, "the files and ids.txt must name the same scenarios");
    scenarios.sort_by_key(|scenario| ids.iter().position(|id| *id == scenario.id));
    scenarios
}

fn paths() -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder()).expect("the folder of the scenarios can be read");
    let paths = files.map(|file| file.expect("the folder can be listed").path());
    paths.filter(|path| path.extension().is_some_and(|ext| ext == "toml")).collect()
}

fn scenario(path: &Path) -> Scenario {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let scenario: Scenario = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    assert!(name.starts_with(&format!("{}-", scenario.id)), "{name} must begin with its id {}", scenario.id);
    let has_steps = !scenario.steps.is_empty();
    assert!(has_steps || !scenario.needs.is_empty() || !scenario.shown_by.is_empty(), "{name} has no steps");
    assert!(!has_steps || scenario.needs.is_empty(), "{name} has steps and waits all the same");
    assert!(!scenario.parts.is_empty(), "{name} runs nowhere");
    scenario.shown_by.iter().for_each(|test| shown_by::check(name, test));
    scenario
}

#[cfg(test)]
mod tests {
    /// Every file can be read, also of scenarios that wait, and every test that one names exists.
    #[test]
    fn every_file_is_valid() {
        assert!(!super::load().is_empty());
    }
}
