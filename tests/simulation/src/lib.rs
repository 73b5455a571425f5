//! The roles' own code on simulated ports under a seeded scheduler.
//!
//! One seed is one history of facts and one interleaving: crashes, zombies, write timeouts, late and repeated
//! records, jumps of time. At rest everything is compared with the truth of the facts. See the README.

pub mod check;
pub mod clock;
pub mod commits;
pub mod device;
pub mod history;
pub mod hot;
pub mod log;
pub mod mutation;
pub mod notified;
pub mod oracle;
pub mod rng;
pub mod roles;
pub mod run;
pub mod seeds;
pub mod shown;
pub mod sim_log;
pub mod store;
pub mod tap;
pub mod told;
pub mod world;

pub use mutation::Mutation;
pub use run::{Options, Outcome, run};
