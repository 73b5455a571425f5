//! The hot state: what is kept close at hand of the users who were seen lately, so that their devices learn of
//! changes at once. Everything in it can be rebuilt from the store, and a miss is never read as zero.
//!
//! [`HotState`] is the port; what each operation does is said, as pure code, by [`readmark_domain::hot::User`].
//!
//! # Whose state there is
//!
//! A user has a state, or has none ([`Held::Missing`]), as a whole: when a part is lost, all of it is. It lives for
//! [`KEPT_MS`] after the last [`HotState::touch`]. One that is being rebuilt merges what comes but can't be read
//! ([`Held::Incomplete`]). A server that was restarted or has taken over from another one may have lost writes:
//! every state it has from before is missing.
//!
//! # How a state comes to be
//!
//! On first need, by whoever needs it:
//!
//! 1. [`HotState::begin_rebuild`] makes it, incomplete, with a new epoch; or says that another process is at it
//!    (wait, then ask again), or that it is there already.
//! 2. Only then read the store, and [`HotState::apply`] a *whole* [`Change`](readmark_domain::hot::Change) for each
//!    conversation. Facts go on merging in meanwhile. In this order none can be missed: a fact told before (1) is
//!    in the store by then, a later one is merged.
//! 3. [`HotState::complete_rebuild`]; where it asks for numbers, count and apply them, then again.
//!
//! # How facts are told
//!
//! * [`HotState::apply`] for each user and conversation that a fact concerns: a user without a state answers `None`
//!   and costs little. A user who joins is told the whole conversation, as in a rebuild, since nobody told it what
//!   came before.
//! * Where the answer has `to_count`, count that range in the store, apply
//!   [`Change::of_counted`](readmark_domain::hot::Change::of_counted), and again until the answer has none. A fact
//!   is told only when this has ended: its offset may be stored then.
//! * [`HotState::apply_tallies`] for each `message_read`.
//!
//! All of it may be repeated, and is when an answer is lost: what changes nothing appends nothing.
//!
//! # How devices follow
//!
//! [`HotState::subscribe`], watch the user, and then read: [`HotState::entries`] after the device's token, else
//! [`HotState::picture`]. A wake-up says only "read again", and may be missed; so streams are also read from time
//! to time.

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod inbox;
pub mod memory;
mod port;
#[cfg(feature = "redis")]
pub mod redis;

pub use error::{HotError, HotErrorKind};
pub use inbox::{Wakeup, Wakeups};
pub use port::{Begun, Held, HotState, TallyTold, Usage, UserChange, Watch};

/// How long a state lives after the last call of its user, in milliseconds: 30 days.
pub const KEPT_MS: u64 = 30 * 86_400_000;

/// How long a rebuild keeps others from beginning one, in milliseconds. A user of 10,000 conversations is rebuilt in
/// a few seconds; whoever takes longer has died, or finds at its end that another one took its place.
pub const REBUILD_LEASE_MS: u64 = 10_000;
