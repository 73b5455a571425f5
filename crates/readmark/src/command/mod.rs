//! The commands, one file each.

mod config;
pub(crate) mod dead_letters;
mod doctor;
pub(crate) mod inspect;
pub(crate) mod repair;
pub(crate) mod replay;
mod serve;
mod setup;
mod token;
mod up;

use crate::cli::{Arguments, Command};
use crate::exit::{Exit, Failure};

/// Runs a command.
pub(crate) fn run(arguments: Arguments) -> Result<Exit, Failure> {
    match arguments.command {
        Command::Up(up) => up::run(&up),
        Command::Serve(serve) => serve::run(&serve),
        Command::Setup(setup) => setup::run(&setup),
        Command::Token(token) => token::run(&token),
        Command::Replay(replay) => replay::run(&replay),
        Command::DeadLetters(command) => dead_letters::run(&command),
        Command::Inspect(inspect) => inspect::run(inspect),
        Command::Config(config) => config::run(config),
        Command::Doctor(output) => doctor::run(&output),
    }
}

/// A runtime for a command; those that serve and the operator's alike.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("the runtime can't be started: {error}")))
}
