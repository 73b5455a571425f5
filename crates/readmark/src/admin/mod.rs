//! The operator's socket in the data directory: how commands reach a running `readmark up`.

mod client;
mod inspect;
mod server;
mod state;
mod topics;

pub(crate) use client::{get, is_served};
pub(crate) use server::{listen, routes, serve};
