//! Reading the configuration, so that every mistake is told at once, with its key and where it stands.

use super::check::check;
use super::keys::Config;
use super::log::{LogKind, default_partitions};
use super::together::check_together;
use crate::cli::Source;
use crate::exit::Failure;
use figment::error::Kind;
use figment::providers::{Env, Format, Serialized, Toml};
use figment::value::{Dict, Tag, Value};
use figment::{Figment, Metadata};
use readmark_runtime::clock::{Clock, SystemClock};
use std::path::Path;

/// Prefix of variables; two underscores go one level down: `READMARK_LOG__PARTITIONS`.
const VARIABLE_PREFIX: &str = "READMARK_";

/// The configuration in force; `flags` are pairs of key and value and win over everything.
pub(crate) fn load(source: &Source, flags: &[(&str, String)]) -> Result<Config, Failure> {
    let figment = sources(source, flags)?;
    extract(&figment)
}

fn extract(figment: &Figment) -> Result<Config, Failure> {
    let alone = mistakes(figment)?;
    if !alone.is_empty() {
        return Err(told(&alone));
    }
    let config = figment.extract().map_err(Failure::usage)?;
    let together = check_together(&config, SystemClock::default().now());
    if together.is_empty() { Ok(config) } else { Err(told(&together)) }
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
    figment = figment.merge(Env::prefixed(VARIABLE_PREFIX).split("__"));
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

/// Tries every given value alone on top of the defaults: serde stops at the first mistake, so this finds
/// them all.
fn mistakes(figment: &Figment) -> Result<Vec<String>, Failure> {
    let given: Dict = figment.extract().map_err(Failure::usage)?;
    let mut leaves = Vec::new();
    collect(&given, &mut Vec::new(), &mut leaves);
    let mut mistakes = Vec::new();
    for (key, value) in leaves {
        let alone =
            Figment::from(Serialized::defaults(Config::default())).merge(Serialized::default(&key, &value));
        match alone.extract::<Config>() {
            Ok(config) => mistakes.extend(check(&config)),
            Err(errors) => {
                let place = place(figment, value.tag(), &key);
                mistakes
                    .extend(errors.into_iter().map(|error| format!("{key}{place}: {}", words(&error.kind))));
            }
        }
    }
    Ok(mistakes)
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
    let variable = || format!("{VARIABLE_PREFIX}{}", key.replace('.', "__").to_uppercase());
    let named = |metadata: &Metadata| match &metadata.source {
        Some(source) => format!(" (in {source})"),
        None if metadata.name.contains("environment") => format!(" (variable {})", variable()),
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

    #[test]
    fn a_secret_is_not_printed() {
        let config = of_file("[store]\nuser = 'me'\npassword = 'geheim'").unwrap();
        let shown = format!("{config:?}{}", toml::to_string(&config).unwrap());
        assert!(!shown.contains("geheim"), "{shown}");
        assert_eq!(config.store.cql().unwrap().credentials.unwrap().password, "geheim");
    }
}
