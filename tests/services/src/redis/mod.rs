//! Redis servers of a test's own, and a proxy that cuts connections and loses answers.

mod proxy;
mod server;

pub use proxy::Proxy;
pub use server::{Server, WRITES_DOWN, free_port};
