//! The registers: what merges two writes of one cell, whatever their order and number.

mod latest;
mod presence;
mod switches;
mod watermark;

pub use latest::Latest;
pub use presence::{Presence, PresenceKey};
pub use switches::{PolicySwitches, ReceiptsMode, Switch, SwitchSet, SwitchValue, UserSwitches};
pub use watermark::ReadMark;
