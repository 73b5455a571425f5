use crate::cli::Config;
use crate::config::load;
use crate::exit::{Exit, Failure};

/// `readmark config show|check`.
pub(crate) fn run(config: Config) -> Result<Exit, Failure> {
    match config {
        Config::Show(source) => {
            let text = toml::to_string(&load(&source, &[])?).map_err(Failure::failed)?;
            print!("{text}");
        }
        Config::Check(source) => {
            load(&source, &[])?;
            println!("the configuration is sound");
        }
    }
    Ok(Exit::Done)
}
