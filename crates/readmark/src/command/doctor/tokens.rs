//! Keys that tokens are checked with.

use super::Finding;
use crate::config::Config;
use crate::parts::is_embedded;
use readmark_http::auth::{GOOD_SECRET_BYTES, KeyError, read_secret};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const CHECK: &str = "tokens";

pub(super) fn check(config: &Config) -> Vec<Finding> {
    let auth = &config.auth;
    let own = config.data_dir.join("secret");
    let uses_own = auth.secret_file.is_none() && (auth.jwks_file.is_none() || is_embedded(config));
    let mut findings = Vec::new();
    let secret = match &auth.secret_file {
        Some(file) => Some(file),
        None if uses_own && own.exists() => Some(&own),
        None => None,
    };
    let mut kinds = Vec::new();
    if let Some(file) = secret {
        kinds.push(format!("the secret {}", file.display()));
        findings.extend(of_secret(file));
    } else if uses_own {
        kinds.push(format!("the secret {}, which the first start makes", own.display()));
    }
    if let Some(file) = &auth.jwks_file {
        kinds.push(format!("the keys of {}", file.display()));
        let without_secret =
            readmark_http::AuthSettings { secret_file: None, jwks_file: auth.jwks_file.clone() };
        if let Err(error) = without_secret.verifier(None) {
            findings.push(failed(&error));
        }
    }
    if uses_own && !is_embedded(config) {
        let words =
            "each data directory makes a secret of its own: a process does not know another machine's tokens";
        let to_do = "set auth.secret_file or auth.jwks_file, the same for all processes";
        findings.push(Finding::warning(CHECK, words, to_do));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, format!("checked with {}", kinds.join(" and "))));
    }
    findings
}

fn failed(error: &KeyError) -> Finding {
    Finding::failed(
        CHECK,
        error,
        "put the right file there, or name another one with auth.secret_file, auth.jwks_file",
    )
}

fn of_secret(file: &Path) -> Vec<Finding> {
    let secret = match read_secret(file) {
        Ok(secret) => secret,
        Err(error) => return vec![failed(&error)],
    };
    let mut findings = Vec::new();
    if secret.len() < GOOD_SECRET_BYTES {
        let words = format!("the secret {} has {} bytes", file.display(), secret.len());
        let to_do = format!(
            "use {GOOD_SECRET_BYTES} random bytes at least; tokens signed with the old one end with it"
        );
        findings.push(Finding::warning(CHECK, words, to_do));
    }
    let mode = std::fs::metadata(file).map_or(0, |found| found.mode() & 0o7777);
    if mode & 0o077 != 0 {
        let words = format!("the secret {} is open to others (mode {mode:o})", file.display());
        findings.push(Finding::warning(CHECK, words, format!("chmod 600 {}", file.display())));
    }
    findings
}
