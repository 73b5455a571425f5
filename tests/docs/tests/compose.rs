//! `deploy/compose.yaml` names variables, roles and versions that there are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_docs::{readmark, text};
use serde_yaml_ng::Value;
use std::collections::BTreeMap;

/// The services, with what they inherit.
fn services() -> BTreeMap<String, Value> {
    let mut compose: Value = serde_yaml_ng::from_str(&text("deploy/compose.yaml")).expect("YAML");
    compose.apply_merge().expect("merge keys stand before maps");
    serde_yaml_ng::from_value(compose["services"].clone()).expect("services")
}

/// Those that run this program.
fn ours() -> BTreeMap<String, Value> {
    let ours: BTreeMap<_, _> =
        services().into_iter().filter(|(_, service)| service["image"].as_str() == Some("readmark")).collect();
    assert!(ours.len() > 2, "{ours:?}");
    ours
}

fn variables(service: &Value) -> BTreeMap<String, String> {
    serde_yaml_ng::from_value(service["environment"].clone()).expect("variables with text")
}

/// What follows `--roles`; nothing where no role is served.
fn roles(service: &Value) -> Vec<String> {
    let command = &service["command"];
    let command: Vec<String> = if command.is_null() {
        Vec::new()
    } else {
        serde_yaml_ng::from_value(command.clone()).expect("a command in words")
    };
    let mut words = command.iter().skip_while(|word| *word != "--roles");
    let roles = words.nth(1).map_or("", String::as_str);
    roles.split(',').filter(|role| !role.is_empty()).map(str::to_owned).collect()
}

#[test]
fn the_program_knows_every_variable() {
    for (name, service) in ours() {
        let variables = variables(&service);
        assert!(variables.keys().all(|variable| variable.starts_with("READMARK_")), "{name}: {variables:?}");
        let pairs: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let checked = readmark(&["config", "check"], &pairs);
        assert!(checked.status.success(), "{name}: {}", String::from_utf8_lossy(&checked.stderr));
    }
}

/// As the program itself lists them to who names one that is none.
fn known_roles() -> Vec<String> {
    let refused = readmark(&["serve", "--roles", "nobody"], &[]);
    let words = String::from_utf8(refused.stderr).expect("text");
    let (_, known) = words.split_once("there are all, ").unwrap_or_else(|| panic!("{words}"));
    let known = known.lines().next().unwrap_or_default();
    let known: Vec<String> = known.split(", ").map(|role| role.trim().to_owned()).collect();
    assert!(known.contains(&"aggregator".to_owned()), "{words}");
    known
}

#[test]
fn every_role_runs_twice_under_names_of_its_own() {
    let ours = ours();
    let known = known_roles();
    for role in &known {
        let count = ours.values().filter(|service| roles(service).contains(role)).count();
        assert!(count >= 2, "{role} runs {count} times");
    }
    let mut instances = BTreeMap::new();
    for (name, service) in &ours {
        let roles = roles(service);
        assert!(roles.iter().all(|role| known.contains(role)), "{name}: {roles:?}");
        if !roles.is_empty() {
            let instance = variables(service)["READMARK_LOG__INSTANCE_ID"].clone();
            assert_eq!(instances.insert(instance, name), None, "{name} has another's instance id");
            assert!(
                service["healthcheck"]["test"]
                    .as_sequence()
                    .unwrap()
                    .iter()
                    .any(|word| { word.as_str().is_some_and(|word| word.ends_with("/readyz")) })
            );
        }
    }
}

#[test]
fn kafka_is_the_one_that_the_tests_run_on() {
    let image = services()["kafka"]["image"].as_str().expect("an image").to_owned();
    let version = image.split_once(':').expect("a version").1;
    let tested = text("scripts/services.d/kafka.xml");
    assert!(tested.contains(&format!("<version>{version}</version>")), "{image}");
    let toolchain = text("rust-toolchain.toml");
    let dockerfile = text("deploy/Dockerfile");
    let compiler =
        dockerfile.split("FROM rust:").nth(1).and_then(|rest| rest.split('-').next()).expect("an image");
    assert!(toolchain.contains(&format!("\"{compiler}\"")), "the image builds with {compiler}: {toolchain}");
}
