//! Where to serve.

use serde::de::{Deserialize, Deserializer, Error as _};
use std::net::SocketAddr;

/// What every machine calls itself; other names may mean several addresses, or another one tomorrow.
const LOCALHOST: &str = "localhost:";

/// An IP address and a port, or `localhost` and a port.
pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let address = match text.strip_prefix(LOCALHOST) {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    address.parse().map_err(|_| format!("{text:?} is not {WANTED}"))
}

const WANTED: &str = "an IP address and a port, as in 0.0.0.0:8080, [::1]:8080 or localhost:8080";

pub(super) fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text =
        String::deserialize(deserializer).map_err(|_| D::Error::custom(format!("must be {WANTED}")))?;
    parse_listen(&text).map_err(D::Error::custom)
}

pub(super) fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    one(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_or_localhost() {
        for (text, address) in
            [("localhost:80", "127.0.0.1:80"), ("[::1]:0", "[::1]:0"), ("0.0.0.0:8080", "0.0.0.0:8080")]
        {
            assert_eq!(parse_listen(text).unwrap().to_string(), address);
        }
        for wrong in
            ["", "8080", "localhost", "localhost:", "localhost:x", "example.com:80", ":80", "::1:80x"]
        {
            let told = parse_listen(wrong).unwrap_err();
            assert!(told.contains("IP address"), "{told}");
        }
    }
}
