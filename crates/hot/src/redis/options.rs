//! What the adapter needs to know.

use crate::REBUILD_LEASE_MS;
use redis::IntoConnectionInfo;
use std::path::PathBuf;

/// PEM files of TLS, for rediss:// addresses.
#[derive(Debug, Clone, Default)]
pub struct RedisTls {
    /// The authorities that are trusted; `None`: those of the system.
    pub ca: Option<PathBuf>,
    /// The client's certificate chain and its key, where the server asks for one.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// Where the server is and how to use it.
#[derive(Clone)]
pub struct RedisOptions {
    /// redis:// or rediss:// addresses: one, or several of a cluster. One of a cluster will do: it names the others.
    pub urls: Vec<String>,
    /// Begins the names of all keys and channels.
    pub key_prefix: String,
    /// Who logs in, in place of what the addresses say.
    pub user: Option<String>,
    /// The password, in place of what the addresses say.
    pub password: Option<String>,
    /// TLS.
    pub tls: RedisTls,
    /// How long a rebuild keeps others away, in milliseconds.
    pub rebuild_lease_ms: u64,
}

/// What is wrong with addresses, separated by commas; in words that tell nothing of them.
#[must_use]
pub fn url_fault(urls: &str) -> Option<String> {
    each(urls).find_map(|url| url.into_connection_info().err()).map(|error| error.to_string())
}

fn each(urls: &str) -> impl Iterator<Item = &str> {
    urls.split(',').map(str::trim).filter(|url| !url.is_empty())
}

impl RedisOptions {
    /// For these addresses, separated by commas.
    #[must_use]
    pub fn new(urls: &str, key_prefix: impl Into<String>) -> Self {
        Self {
            urls: each(urls).map(str::to_owned).collect(),
            key_prefix: key_prefix.into(),
            user: None,
            password: None,
            tls: RedisTls::default(),
            rebuild_lease_ms: REBUILD_LEASE_MS,
        }
    }

    /// The addresses, without what is secret in them.
    pub(super) fn shown_urls(&self) -> String {
        let shown = |url: &String| match (url.find("://"), url.rfind('@')) {
            (Some(scheme), Some(at)) if at > scheme => format!("{}…{}", &url[..scheme + 3], &url[at..]),
            _ => url.clone(),
        };
        self.urls.iter().map(shown).collect::<Vec<_>>().join(",")
    }
}

impl std::fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisOptions")
            .field("urls", &self.shown_urls())
            .field("key_prefix", &self.key_prefix)
            .field("user", &self.user)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::RedisOptions;

    #[test]
    fn nothing_secret_is_shown() {
        let mut options = RedisOptions::new("redis://u:geheim@a:1, rediss://b:2/,", "p");
        options.password = Some("geheim".to_owned());
        assert_eq!(options.urls.len(), 2);
        let shown = format!("{options:?}");
        assert!(!shown.contains("geheim") && shown.contains("redis://…@a:1,rediss://b:2/"), "{shown}");
    }
}
