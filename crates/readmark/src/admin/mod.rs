//! The operator's socket in the data directory: how commands reach a running `readmark up`.

mod client;
mod inspect;
mod lines;
mod place;
mod repair;
mod server;
mod state;
mod topics;

pub(crate) use client::{follow, get, is_served, post};
pub(crate) use server::{listen, routes, serve};
