//! Bearer tokens (JWT): who calls. The identity comes from here only.

mod keys;
mod token;
mod verifier;

pub use keys::{GOOD_SECRET_BYTES, KeyError, read_secret};
pub use token::{Claims, Scope, sign};
pub use verifier::{AuthError, Caller, Verifier};
