use crate::cli::Config;
use crate::config::{load, schema};
use crate::exit::{Exit, Failure};
use crate::print;

/// `readmark config show|check|schema`.
pub(crate) fn run(config: Config) -> Result<Exit, Failure> {
    match config {
        Config::Show(source) => {
            let text = toml::to_string(&load(&source, &[])?).map_err(Failure::failed)?;
            print::text(&text)?;
        }
        Config::Check(source) => {
            load(&source, &[])?;
            print::text("the configuration is sound\n")?;
        }
        Config::Schema => print::json(&schema())?,
    }
    Ok(Exit::Done)
}
