//! Section `hot`.

use super::secret::{Secret, given_twice};
use super::together::{Clash, half_a_pair};
use crate::exit::Failure;
use readmark_hot::redis::{RedisOptions, RedisTls, url_fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HotSection {
    /// Where they are.
    pub kind: HotKind,
    /// `redis://` or `rediss://` addresses, which may hold a password; several, with commas, for a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Secret>,
    /// Who logs in, in place of what the addresses say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Its password, in place of what the addresses say; rather in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<Secret>,
    /// The file that holds it; line ends are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    /// PEM file of the authorities that sign the servers' certificates, for `rediss://`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_ca_file: Option<PathBuf>,
    /// PEM file of the client's certificate, together with its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_certificate_file: Option<PathBuf>,
    /// PEM file of that key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_key_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HotKind {
    /// In this process, which then must have all roles.
    Memory,
    /// In Redis.
    Redis,
}

impl Default for HotSection {
    fn default() -> Self {
        Self {
            kind: HotKind::Memory,
            url: None,
            user: None,
            password: None,
            password_file: None,
            tls_ca_file: None,
            tls_certificate_file: None,
            tls_key_file: None,
        }
    }
}

impl HotSection {
    /// What is wrong with the addresses; what is secret in them is not told.
    pub(super) fn url_mistake(&self) -> Option<String> {
        let is_redis = |url: &str| url.starts_with("redis://") || url.starts_with("rediss://");
        let urls = self.url.as_ref()?.reveal();
        if !urls.split(',').map(str::trim).all(is_redis) {
            return Some("hot.url: must be redis:// or rediss:// addresses, with commas between".to_owned());
        }
        url_fault(urls).map(|words| format!("hot.url: {words}"))
    }

    /// What keys say against each other.
    pub(super) fn clashes(&self) -> Vec<Clash> {
        let mut clashes = Vec::new();
        if self.kind == HotKind::Redis && self.url.is_none() {
            clashes.push(Clash::of(&["hot.url", "hot.kind"], "hot.url: hot.kind = \"redis\" needs it"));
        }
        clashes.extend(given_twice("hot.password", self.password.as_ref(), self.password_file.as_deref()));
        clashes.extend(half_a_pair(
            ("hot.tls_certificate_file", self.tls_certificate_file.is_some()),
            ("hot.tls_key_file", self.tls_key_file.is_some()),
        ));
        clashes
    }

    /// How to reach Redis.
    pub fn redis(&self, key_prefix: &str) -> Result<RedisOptions, Failure> {
        let password =
            Secret::of("hot.password_file", self.password.as_ref(), self.password_file.as_deref())?;
        let urls = self.url.as_ref().map_or("", Secret::reveal);
        let client = self.tls_certificate_file.clone().zip(self.tls_key_file.clone());
        Ok(RedisOptions {
            user: self.user.clone(),
            password,
            tls: RedisTls { ca: self.tls_ca_file.clone(), client },
            ..RedisOptions::new(urls, key_prefix)
        })
    }
}
