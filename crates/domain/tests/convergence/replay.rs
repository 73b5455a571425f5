//! Files and seeds by which a failure can be seen again.

use crate::case::Case;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

/// The case that the environment asks for.
pub fn asked_for() -> Option<Case> {
    std::env::var_os("READMARK_REPLAY").map(|path| read(Path::new(&path)))
}

/// The seed that the environment asks for, or a new one.
pub fn seed() -> u64 {
    match std::env::var("READMARK_SEED") {
        Ok(text) => text.parse().expect("READMARK_SEED is a number"),
        Err(_) => RandomState::new().hash_one(0),
    }
}

pub fn read(path: &Path) -> Case {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("reading {}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{} is no case: {error}", path.display()))
}

/// Writes a case below `target/failures`.
pub fn write(name: &str, case: &Case) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("lies in the target folder");
    let folder = target.join("failures");
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    let path = folder.join(format!("{name}-{}.json", std::process::id()));
    std::fs::write(&path, serde_json::to_vec_pretty(case).expect("facts are JSON")).expect("writable");
    path
}
