use std::net::SocketAddr;

/// What a process is called in its groups where nothing is configured: host and listen address, which a restart
/// has again and no other process has. Kafka takes letters, digits, `.`, `_` and `-`.
pub(super) fn default_id(listen: SocketAddr) -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    format!("{host}-{}-{}", listen.ip(), listen.port())
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_what_kafka_takes() {
        let id = super::default_id("[::1]:8080".parse().unwrap());
        assert!(id.ends_with("---1-8080"), "{id}");
    }
}
