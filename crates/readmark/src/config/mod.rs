//! Configuration: built-in defaults, then the TOML file, then `READMARK_…` variables, then flags.

mod check;
mod keys;
mod load;

pub(crate) use keys::Config;
pub(crate) use load::load;
