//! Configuration: built-in defaults, then the TOML file, then `READMARK_…` variables, then flags.

mod addresses;
mod check;
mod hot;
mod keys;
mod listen;
mod load;
mod log;
mod schema;
mod secret;
mod store;
mod together;
mod variables;

pub(crate) use hot::HotKind;
pub(crate) use keys::Config;
pub(crate) use listen::parse_listen;
pub(crate) use load::load;
pub(crate) use log::LogKind;
pub(crate) use schema::schema;
pub(crate) use store::StoreKind;
