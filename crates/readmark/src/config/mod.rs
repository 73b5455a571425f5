//! Configuration: built-in defaults, then the TOML file, then `READMARK_…` variables, then flags.

mod addresses;
mod check;
mod hot;
mod keys;
mod load;
mod log;
mod schema;
mod secret;
mod store;
mod together;

pub(crate) use hot::HotKind;
pub(crate) use keys::Config;
pub(crate) use load::load;
pub(crate) use log::LogKind;
pub(crate) use schema::schema;
pub(crate) use store::StoreKind;
