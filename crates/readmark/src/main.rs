//! The program `readmark`: reads its command, runs it, and says how it went by its exit code.

mod admin;
mod cli;
mod command;
mod config;
mod confirm;
mod exit;
mod http_get;
mod parts;
mod print;
mod process;
mod progress;
mod reach;
mod role_name;
mod roles;
mod stop;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match cli::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are data; everything else is wrong usage.
            let wrong = error.use_stderr();
            let _ = error.print();
            return if wrong { exit::Exit::Usage.into() } else { exit::Exit::Done.into() };
        }
    };
    match command::run(arguments) {
        Ok(code) => code.into(),
        Err(failure) => {
            eprintln!("readmark: {failure}");
            failure.code().into()
        }
    }
}
