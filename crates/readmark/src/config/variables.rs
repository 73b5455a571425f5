//! `READMARK_…` variables.

use super::keys::Config;
use figment::providers::{Env, Serialized};
use figment::util::nest;
use figment::value::{Dict, Map, Value};
use figment::{Error, Figment, Metadata, Profile, Provider};

/// Two underscores go one level down: `READMARK_LOG__PARTITIONS`.
const PREFIX: &str = "READMARK_";

/// What metadata of variables is called, for the one who tells where a value stands.
pub(super) const NAME: &str = "environment";

/// Adds what the variables say. Numbers, lists and the like are read as in TOML; where a text is wanted it is taken as
/// it stands, so that a password may be `123456` or `true`, and keeps its quotes and blanks.
pub(super) fn add_to(figment: Figment) -> Figment {
    let variables = Env::prefixed(PREFIX).split("__");
    let texts: Vec<Text> = variables
        .iter()
        .map(|(key, text)| Text { key: key.into_string(), text })
        .filter(Text::is_taken)
        .collect();
    texts.into_iter().fold(figment.merge(variables), Figment::merge)
}

/// The variable of a key.
pub(super) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "__").to_uppercase())
}

/// A variable as it stands.
struct Text {
    key: String,
    text: String,
}

impl Text {
    /// Does its key take it so?
    fn is_taken(&self) -> bool {
        let alone = Figment::from(Serialized::defaults(Config::default())).merge(self);
        alone.extract::<Config>().is_ok()
    }
}

impl Provider for Text {
    fn metadata(&self) -> Metadata {
        Metadata::named(format!("{NAME} variable"))
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        let nested = nest(&self.key, Value::from(self.text.clone()));
        Ok(Profile::Default.collect(nested.into_dict().unwrap_or_default()))
    }
}
