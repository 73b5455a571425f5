//! The data directory: there, ours, with room, and whether somebody runs on it.

use super::Finding;
use crate::admin;
use crate::config::{Config, LogKind, StoreKind};
use crate::parts::is_embedded;
use readmark_embedded::FoundDataDir;
use rustix::fs::{Access, access, statvfs};
use std::path::Path;

const CHECK: &str = "data directory";

/// Less free space than this is worth a warning: hours of a busy installation.
const LITTLE_BYTES: u64 = 1024 * 1024 * 1024;
/// With less than this writes may fail at any moment.
const NO_BYTES: u64 = 64 * 1024 * 1024;

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let makes_secret = config.auth.secret_file.is_none() && config.auth.jwks_file.is_none();
    if !is_embedded(config) && !makes_secret {
        return Vec::new();
    }
    let path = &config.data_dir;
    let shown = path.display();
    let found = match FoundDataDir::look(path) {
        Ok(Some(found)) => found,
        Ok(None) => return vec![missing(path)],
        // It says what to do itself.
        Err(error) => {
            return vec![Finding::failed(CHECK, error, "name another one with --data-dir or data_dir")];
        }
    };
    let mut findings = vec![standing(config, &found).await];
    let own = rustix::process::geteuid().as_raw();
    if found.owner != own && own != 0 {
        let words = format!("{shown} belongs to user {}, and this is user {own}", found.owner);
        findings.push(Finding::failed(CHECK, words, "run readmark as its owner, or name another directory"));
    }
    if found.mode & 0o077 != 0 {
        let words =
            format!("{shown} is open to others (mode {:o}): the secret of tokens lies there", found.mode);
        findings.push(Finding::warning(CHECK, words, format!("chmod 700 {shown}")));
    }
    findings.extend(room(path));
    findings
}

/// Who holds it, and is it whole?
async fn standing(config: &Config, found: &FoundDataDir) -> Finding {
    let path = &config.data_dir;
    let shown = path.display();
    if admin::is_served(&path.join("admin.sock")).await {
        let address = std::fs::read_to_string(path.join("listen")).unwrap_or_default();
        return Finding::ok(
            CHECK,
            format!("{shown}: a readmark runs on it and serves on {}", address.trim()),
        );
    }
    if found.is_held {
        let to_do = "wait for its end, or end it; `fuser` on the file LOCK names it";
        return Finding::failed(CHECK, format!("{shown}: a process holds it and does not answer"), to_do);
    }
    if found.is_new {
        return Finding::ok(CHECK, format!("{shown}: empty, the first start fills it"));
    }
    let files = [
        ("log.redb", config.log.kind == LogKind::Embedded),
        ("store.redb", config.store.kind == StoreKind::Embedded),
    ];
    let needed: Vec<&str> = files.into_iter().filter_map(|(name, needed)| needed.then_some(name)).collect();
    let lost: Vec<&str> = needed.iter().copied().filter(|name| !path.join(name).exists()).collect();
    if !lost.is_empty() && lost.len() < needed.len() {
        let to_do = "restore the directory from a backup, or start with a new one";
        return Finding::failed(CHECK, format!("{shown}: has lost {}", lost.join(", ")), to_do);
    }
    Finding::ok(CHECK, format!("{shown}: free to be used"))
}

fn missing(path: &Path) -> Finding {
    let there = path.ancestors().skip(1).find(|one| one.as_os_str().is_empty() || one.exists());
    let there = there.filter(|one| !one.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match access(there, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Finding::ok(CHECK, format!("{}: not there, the first start makes it", path.display())),
        Err(error) => {
            let words =
                format!("{}: not there, and can't be made: {}: {error}", path.display(), there.display());
            Finding::failed(CHECK, words, "make it, for the user that runs readmark and with mode 700")
        }
    }
}

fn room(path: &Path) -> Option<Finding> {
    let system = match statvfs(path) {
        Ok(system) => system,
        Err(error) => return Some(Finding::failed(CHECK, error, "look at the file system")),
    };
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    let words = format!("{} MiB are free for {}", free / (1024 * 1024), path.display());
    let to_do = "make room: with none, calls are answered 503 and roles wait";
    if free < NO_BYTES {
        Some(Finding::failed(CHECK, words, to_do))
    } else {
        (free < LITTLE_BYTES).then(|| Finding::warning(CHECK, words, to_do))
    }
}
