//! The configuration, and the files that it names.

use super::Finding;
use crate::config::{Config, HotKind, LogKind, StoreKind};
use std::path::PathBuf;

const CHECK: &str = "configuration";

pub(super) fn check(config: &Config) -> Finding {
    let mistakes = mistakes(config);
    if mistakes.is_empty() {
        let log = match config.log.kind {
            LogKind::Embedded => "embedded",
            LogKind::Kafka => "Kafka",
        };
        let store = match config.store.kind {
            StoreKind::Embedded => "embedded",
            StoreKind::Cql => "CQL",
        };
        let hot = match config.hot.kind {
            HotKind::Memory => "memory",
            HotKind::Redis => "Redis",
        };
        return Finding::ok(CHECK, format!("sound: log {log}, store {store}, hot state {hot}"));
    }
    let to_do = "let the user that runs readmark read these files, or name others";
    Finding::failed(CHECK, mistakes.join("\n"), to_do)
}

/// Files that are named and can't be read, each with its key. Those that hold keys of tokens have a check of their own.
pub(super) fn mistakes(config: &Config) -> Vec<String> {
    let (log, store, hot) = (&config.log, &config.store, &config.hot);
    let mut named: Vec<(&str, &Option<PathBuf>)> = Vec::new();
    if log.kind == LogKind::Kafka {
        named.extend([
            ("log.security_password_file", &log.security_password_file),
            ("log.security_ca_file", &log.security_ca_file),
            ("log.security_certificate_file", &log.security_certificate_file),
            ("log.security_key_file", &log.security_key_file),
        ]);
    }
    if store.kind == StoreKind::Cql {
        named.extend([
            ("store.password_file", &store.password_file),
            ("store.tls_ca_file", &store.tls_ca_file),
            ("store.tls_certificate_file", &store.tls_certificate_file),
            ("store.tls_key_file", &store.tls_key_file),
        ]);
    }
    if hot.kind == HotKind::Redis {
        named.extend([
            ("hot.password_file", &hot.password_file),
            ("hot.tls_ca_file", &hot.tls_ca_file),
            ("hot.tls_certificate_file", &hot.tls_certificate_file),
            ("hot.tls_key_file", &hot.tls_key_file),
        ]);
    }
    named
        .extend([("auth.secret_file", &config.auth.secret_file), ("auth.jwks_file", &config.auth.jwks_file)]);
    let unreadable = named.into_iter().filter_map(|(key, file)| {
        let file = file.as_ref()?;
        std::fs::read(file).err().map(|error| format!("{key}: {}: {error}", file.display()))
    });
    unreadable.collect()
}
