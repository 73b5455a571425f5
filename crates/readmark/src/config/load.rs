//! Reading the configuration, so that every mistake is told at once, with its key and where it stands.

use super::check::check;
use super::keys::Config;
use super::log::{LogKind, default_partitions};
use super::together::{Clash, check_together};
use super::variables;
use crate::cli::Source;
use crate::exit::Failure;
use figment::error::Kind;
use figment::providers::{Format, Serialized, Toml};
use figment::value::{Dict, Tag, Value};
use figment::{Figment, Metadata};
use readmark_runtime::clock::{Clock, SystemClock};
use std::path::Path;

/// The configuration in force; `flags` are pairs of key and value and win over everything.
pub(crate) fn load(source: &Source, flags: &[(&str, String)]) -> Result<Config, Failure> {
    let figment = sources(source, flags)?;
    extract(&figment)
}

fn extract(figment: &Figment) -> Result<Config, Failure> {
    let Alone { mut mistakes, unsure, sound } = each_alone(figment)?;
    let config: Config = sound.extract().map_err(Failure::usage)?;
    // What is sound is looked at together beside mistakes too, so that nobody has to mend and try twice.
    let clashes = check_together(&config, SystemClock::default().now()).into_iter();
    mistakes.extend(clashes.filter(|clash| !unsure.has_part_in(clash)).map(|clash| clash.words));
    if mistakes.is_empty() { Ok(config) } else { Err(told(&mistakes)) }
}

/// What a kind of log has as its own default, below everything that is given.
fn with_defaults_of_kind(figment: Figment) -> Figment {
    match figment.extract_inner::<LogKind>("log.kind") {
        Ok(kind) => Figment::from(Serialized::defaults(Config::default()))
            .merge(Serialized::default("log.partitions", default_partitions(kind)))
            .merge(figment),
        // Told with all other mistakes.
        Err(_) => Figment::from(Serialized::defaults(Config::default())).merge(figment),
    }
}

fn told(mistakes: &[String]) -> Failure {
    let lines: String = mistakes.iter().map(|mistake| format!("\n  {mistake}")).collect();
    Failure::usage(format!("the configuration has {} mistake(s):{lines}", mistakes.len()))
}

fn sources(source: &Source, flags: &[(&str, String)]) -> Result<Figment, Failure> {
    let mut figment = Figment::new();
    if let Some(file) = &source.config {
        figment = figment.merge(toml_file(file)?);
    }
    figment = variables::add_to(figment);
    if let Some(data_dir) = &source.data_dir {
        figment = figment.merge(Serialized::default("data_dir", data_dir));
    }
    for (key, value) in flags {
        figment = figment.merge(Serialized::default(key, value));
    }
    Ok(with_defaults_of_kind(figment))
}

fn toml_file(file: &Path) -> Result<figment::providers::Data<Toml>, Failure> {
    match std::fs::metadata(file) {
        Ok(_) => Ok(Toml::file_exact(file)),
        Err(error) => Err(Failure::usage(format!("the configuration file {}: {error}", file.display()))),
    }
}

/// What became of the given values, each alone.
struct Alone {
    mistakes: Vec<String>,
    unsure: Unsure,
    /// The others, on top of the defaults.
    sound: Figment,
}

/// Keys that were given and are not known for being wrong.
#[derive(Default)]
struct Unsure {
    keys: Vec<String>,
    /// A section that does not exist: it may have been meant for any.
    all: bool,
}

impl Unsure {
    fn add(&mut self, key: &str, errors: Option<&figment::Error>) {
        let Some(Kind::UnknownField(name, _)) = errors.map(|errors| &errors.kind) else {
            self.keys.push(key.to_owned());
            return;
        };
        // Outside of all sections no key goes together with another.
        if name != key {
            match key.strip_suffix(name).and_then(|section| section.strip_suffix('.')) {
                Some(section) => self.keys.push(section.to_owned()),
                None => self.all = true,
            }
        }
    }

    /// Might the clash be gone with these keys set right?
    fn has_part_in(&self, clash: &Clash) -> bool {
        let is_in = |key: &str, section: &str| {
            key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let unsure = |key: &String| self.keys.iter().any(|wrong| is_in(key, wrong) || is_in(wrong, key));
        self.all || clash.keys.iter().any(unsure)
    }
}

/// Tries every given value alone on top of the defaults: serde stops at the first mistake, so this finds
/// them all.
fn each_alone(figment: &Figment) -> Result<Alone, Failure> {
    let given: Dict = figment.extract().map_err(Failure::usage)?;
    let mut leaves = Vec::new();
    collect(&given, &mut Vec::new(), &mut leaves);
    let defaults = Figment::from(Serialized::defaults(Config::default()));
    let mut found = Alone { mistakes: Vec::new(), unsure: Unsure::default(), sound: defaults.clone() };
    for (key, value) in leaves {
        let given = Serialized::default(&key, &value);
        let (wrong, errors) = match defaults.clone().merge(&given).extract::<Config>() {
            Ok(config) => (check(&config), None),
            Err(errors) => {
                let place = place(figment, value.tag(), &key);
                let told = |error: figment::Error| format!("{key}{place}: {}", words(&error.kind));
                (errors.clone().into_iter().map(told).collect(), Some(errors))
            }
        };
        if wrong.is_empty() {
            found.sound = found.sound.merge(given);
        } else {
            found.mistakes.extend(wrong);
            found.unsure.add(&key, errors.as_ref());
        }
    }
    Ok(found)
}

fn collect(dict: &Dict, path: &mut Vec<String>, leaves: &mut Vec<(String, Value)>) {
    for (name, value) in dict {
        path.push(name.clone());
        match value.as_dict().filter(|inner| !inner.is_empty()) {
            Some(inner) => collect(inner, path, leaves),
            None => leaves.push((path.join("."), value.clone())),
        }
        path.pop();
    }
}

fn words(kind: &Kind) -> String {
    if let Kind::UnknownField(_, known) = kind {
        return format!("no such key; there are {}", known.join(", "));
    }
    kind.to_string()
}

/// Where a value stands. What is neither in a file nor a flag is a variable.
fn place(figment: &Figment, tag: Tag, key: &str) -> String {
    let named = |metadata: &Metadata| match &metadata.source {
        Some(source) => format!(" (in {source})"),
        None if metadata.name.contains(variables::NAME) => {
            format!(" (variable {})", variables::variable(key))
        }
        None => format!(" (from {})", metadata.name),
    };
    figment.get_metadata(tag).map(named).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_file(text: &str) -> Result<Config, String> {
        let figment = with_defaults_of_kind(Figment::from(Toml::string(text)));
        extract(&figment).map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_defaults_are_what_the_contract_says() {
        let config = of_file("").unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(config.receipts.expire_days, 90);
        assert_eq!(config.log.partitions, 4);
        assert!(check(&config).is_empty());
    }

    #[test]
    fn every_mistake_is_named_at_once() {
        let told = of_file(
            "listen = 'nowhere'\nspeed = 9\n[log]\npartitions = 'many'\n[receipts]\ndefault = 'loud'\nexpire_days = 0\n\
             [http]\nallowed_origins = ['https://a', '*', 'chat.example', 'https://b/']\n[telemetry]\nfilter = 'a=b=c'",
        )
        .unwrap_err();
        for key in [
            "listen",
            "speed",
            "log.partitions",
            "receipts.default",
            "receipts.expire_days",
            "\"*\"",
            "\"chat.example\"",
            "\"https://b/\"",
            "telemetry.filter",
        ] {
            assert!(told.contains(key), "{key} in {told}");
        }
    }

    #[test]
    fn a_cluster_has_more_partitions_unless_told_otherwise() {
        assert_eq!(of_file("[log]\nkind = 'kafka'").unwrap().log.partitions, 64);
        assert_eq!(of_file("[log]\nkind = 'kafka'\npartitions = 6").unwrap().log.partitions, 6);
    }

    #[test]
    fn keys_that_do_not_go_together_are_named() {
        let told = of_file(
            "[log]\nsecurity_protocol = 'sasl_ssl'\nsecurity_certificate_file = 'a.pem'\npartitions = 100\n\
             [store]\nuser = 'me'\n[hot]\nkind = 'redis'",
        )
        .unwrap_err();
        for key in [
            "log.security_protocol",
            "log.security_certificate_file",
            "log.partitions",
            "store.user",
            "hot.url",
        ] {
            assert!(told.contains(key), "{key} in {told}");
        }
    }

    /// The keys at the beginning of each line.
    fn keys_told(text: &str) -> Vec<String> {
        let told = of_file(text).unwrap_err();
        let key = |line: &str| line.trim().split([':', ' ']).next().unwrap_or_default().to_owned();
        told.lines().skip(1).map(key).collect()
    }

    #[test]
    fn what_does_not_go_together_is_told_beside_other_mistakes() {
        let told =
            keys_told("[log]\npartitions = 'many'\n[hot]\nkind = 'redis'\n[store]\nkeyspace = 'Bad-Name'");
        assert_eq!(told, ["log.partitions", "store.keyspace", "hot.url"]);
        let told = keys_told("speed = 9\n[log]\npartitions = 100");
        assert_eq!(told, ["speed", "log.partitions"]);
    }

    #[test]
    fn what_only_follows_from_a_mistake_is_not_told() {
        for (text, keys) in [
            ("[hot]\nkind = 'redis'\nurl = 7", ["hot.url"]),
            ("[hot]\nkind = 'redis'\nurl = 'redis://:x:y'", ["hot.url"]),
            ("[hot]\nkind = 'redis'\nulr = 'redis://a'", ["hot.ulr"]),
            ("[hott]\nurl = 'redis://a'\n[hot]\nkind = 'redis'", ["hott.url"]),
            ("[log]\nkind = 'kafak'\npartitions = 100", ["log.kind"]),
            ("[log]\npartitions = 5000", ["log.partitions"]),
            ("[store]\nuser = 'me'\npassword = 7", ["store.password"]),
            ("[store]\nuser = 'me'\n[store.password]\nfile = 'a'", ["store.password.file"]),
        ] {
            assert_eq!(keys_told(text), keys, "{text}");
        }
    }

    #[test]
    fn what_a_part_would_refuse_is_named() {
        for (section, key, value) in [
            ("store", "keyspace", "Bad-Name"),
            ("store", "keyspace", ""),
            ("store", "contact_points", "http://a:1"),
            ("log", "brokers", "a:0"),
            ("log", "topic_prefix", "a b"),
            ("log", "instance_id", ".."),
            ("hot", "url", "a:6379"),
            ("hot", "url", "redis://u:geheim@a:x"),
            ("hot", "url", "redis://a/no-number"),
        ] {
            let told = of_file(&format!("[{section}]\n{key} = '{value}'")).unwrap_err();
            assert!(told.contains(&format!("{section}.{key}")) && !told.contains("geheim"), "{told}");
        }
        of_file("[hot]\nurl = 'redis://a, rediss://:pw@b:1/2'").unwrap();
    }

    #[test]
    fn a_secret_is_not_printed() {
        let config = of_file("[store]\nuser = 'me'\npassword = 'geheim'").unwrap();
        let shown = format!("{config:?}{}", toml::to_string(&config).unwrap());
        assert!(!shown.contains("geheim"), "{shown}");
        assert_eq!(config.store.cql().unwrap().credentials.unwrap().password, "geheim");
    }
}
