//! `docs/configuration.md` names every key of the program, with its variable, default and range.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

use readmark_test_docs::json_schema::faults;
use readmark_test_docs::{in_backticks, readmark, text};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;

/// A row of the table.
struct Row {
    key: String,
    variable: String,
    /// As TOML; `None` where there is no default.
    default: Option<String>,
    allowed: String,
}

fn rows() -> Vec<Row> {
    let document = text("docs/configuration.md");
    let rows: Vec<Row> = document.lines().filter(|line| line.starts_with("| `")).map(row).collect();
    assert!(!rows.is_empty(), "docs/configuration.md has a table");
    rows
}

fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.split(" | ").collect();
    assert_eq!(cells.len(), 5, "{line}");
    let one = |cell: &str| in_backticks(cell).first().map(|text| (*text).to_owned());
    Row {
        key: one(cells[0]).expect("a key"),
        variable: one(cells[1]).expect("a variable"),
        default: one(cells[2]),
        allowed: cells[3].to_owned(),
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Keys below `section` that the program says it knows, when it is given one that it does not.
fn known(section: &str) -> BTreeSet<String> {
    let prefix = if section.is_empty() { String::new() } else { format!("{}__", section.to_uppercase()) };
    let told = stderr(&readmark(&["config", "check"], &[(&format!("READMARK_{prefix}NO_SUCH_KEY"), "1")]));
    let (_, keys) = told.split_once("there are ").unwrap_or_else(|| panic!("{section}: {told}"));
    keys.trim().split(", ").map(str::to_owned).collect()
}

#[test]
fn the_keys_are_those_of_the_program() {
    let documented: BTreeSet<String> = rows().into_iter().map(|row| row.key).collect();
    let sections: BTreeSet<&str> =
        documented.iter().filter_map(|key| key.split_once('.')).map(|(s, _)| s).collect();
    let mut real = BTreeSet::new();
    for top in known("") {
        if sections.contains(top.as_str()) {
            real.extend(known(&top).into_iter().map(|key| format!("{top}.{key}")));
        } else {
            real.insert(top);
        }
    }
    assert_eq!(documented, real);
}

#[test]
fn the_defaults_are_those_of_the_program() {
    let shown = readmark(&["config", "show"], &[]);
    let shown: toml::Table = String::from_utf8(shown.stdout).unwrap().parse().unwrap();
    let mut real = BTreeMap::new();
    for (key, value) in shown {
        if let toml::Value::Table(section) = value {
            real.extend(section.into_iter().map(|(name, value)| (format!("{key}.{name}"), value)));
        } else {
            real.insert(key, value);
        }
    }
    let parse = |text: &str| format!("v = {text}").parse::<toml::Table>().unwrap()["v"].clone();
    let documented: BTreeMap<String, toml::Value> =
        rows().into_iter().filter_map(|row| Some((row.key, parse(&row.default?)))).collect();
    assert_eq!(documented, real);
}

/// What some values of a key need beside them.
fn together_with(key: &str) -> &'static [(&'static str, &'static str)] {
    match key {
        "log.partitions" => &[("READMARK_LOG__KIND", "kafka")],
        "log.security_protocol" => {
            &[("READMARK_LOG__SECURITY_USER", "me"), ("READMARK_LOG__SECURITY_PASSWORD", "secret")]
        }
        "hot.kind" => &[("READMARK_HOT__URL", "redis://127.0.0.1")],
        "log.security_certificate_file" => &[("READMARK_LOG__SECURITY_KEY_FILE", "key.pem")],
        "log.security_key_file" => &[("READMARK_LOG__SECURITY_CERTIFICATE_FILE", "client.pem")],
        "hot.tls_certificate_file" => &[("READMARK_HOT__TLS_KEY_FILE", "key.pem")],
        "hot.tls_key_file" => &[("READMARK_HOT__TLS_CERTIFICATE_FILE", "client.pem")],
        "store.user" => &[("READMARK_STORE__PASSWORD", "secret")],
        "store.password" | "store.password_file" => &[("READMARK_STORE__USER", "me")],
        "store.tls_certificate_file" => {
            &[("READMARK_STORE__TLS_KEY_FILE", "key.pem"), ("READMARK_STORE__TLS_CA_FILE", "ca.pem")]
        }
        "store.tls_key_file" => &[
            ("READMARK_STORE__TLS_CERTIFICATE_FILE", "client.pem"),
            ("READMARK_STORE__TLS_CA_FILE", "ca.pem"),
        ],
        _ => &[],
    }
}

/// Every variable is taken, and so is every value that is allowed; what lies outside is refused by name.
#[test]
fn the_variables_and_ranges_are_those_of_the_program() {
    for Row { key, variable, default, allowed } in rows() {
        assert_eq!(variable, format!("READMARK_{}", key.replace('.', "__").to_uppercase()));
        let check = |value: &str| {
            let given: Vec<_> =
                together_with(&key).iter().copied().chain([(variable.as_str(), value)]).collect();
            readmark(&["config", "check"], &given)
        };
        let accepts = |value: &str| {
            let checked = check(value);
            assert_eq!(checked.status.code(), Some(0), "{variable}={value}: {}", stderr(&checked));
        };
        let refuses = |value: &str| {
            let checked = check(value);
            assert_eq!(checked.status.code(), Some(2), "{variable}={value} is outside {allowed}");
            assert!(stderr(&checked).contains(&key), "{variable}={value}: {}", stderr(&checked));
        };
        // In a variable a text has no quotes.
        default.iter().for_each(|value| accepts(value.trim_matches('"')));
        let words = in_backticks(&allowed);
        if let Some((low, high)) = allowed.split_once(" to ").filter(|_| words.is_empty()) {
            let (low, high): (u64, u64) = (low.parse().unwrap(), high.parse().unwrap());
            for value in [low, high] {
                accepts(&value.to_string());
            }
            for value in [i128::from(low) - 1, i128::from(high) + 1] {
                refuses(&value.to_string());
            }
        } else if allowed == "0 or more" {
            accepts("0");
            refuses("-1");
        } else if allowed.starts_with('`') {
            words.iter().for_each(|word| accepts(word));
            refuses("something-else");
        }
    }
}

/// What looks like a number, a truth value or a list in TOML is a text all the same where a text is wanted.
#[test]
fn a_text_in_a_variable_is_taken_as_it_stands() {
    let any = ["1", "true", "1.5", "\"x\"", "'x'", " x ", "[x]", "{x=1}"];
    let mut seen = 0;
    for Row { key, variable, allowed, .. } in rows() {
        let values: &[&str] = match key.as_str() {
            "log.topic_prefix" | "log.instance_id" => &["1", "true", "1.5"],
            "store.keyspace" => &["true"],
            _ if allowed == "text" || allowed == "path" => &any,
            _ => continue,
        };
        seen += 1;
        for value in values {
            let given: Vec<_> =
                together_with(&key).iter().copied().chain([(variable.as_str(), *value)]).collect();
            let output = readmark(&["config", "show"], &given);
            assert_eq!(output.status.code(), Some(0), "{variable}={value}: {}", stderr(&output));
            let shown: toml::Table = String::from_utf8(output.stdout).unwrap().parse().unwrap();
            let found =
                key.split('.').try_fold(&toml::Value::Table(shown.clone()), |at, name| at.get(name)).cloned();
            let wanted = if key.ends_with("password") { "(hidden)" } else { value };
            assert_eq!(found.as_ref().and_then(toml::Value::as_str), Some(wanted), "{variable}={value}");
        }
    }
    assert!(seen > 20, "{seen} keys are texts or paths");
}

#[test]
fn what_is_no_text_is_read_as_in_toml() {
    let lists = [
        ("READMARK_LOG__BROKERS", "[\"a:1\", \"b:2\"]"),
        ("READMARK_STORE__CONTACT_POINTS", "a:1, b:2"),
        ("READMARK_HTTP__ALLOWED_ORIGINS", "[\"https://a.example\"]"),
        ("READMARK_DEMO__ENABLED", "false"),
        ("READMARK_LISTEN", "localhost:80"),
    ];
    let shown = String::from_utf8(readmark(&["config", "show"], &lists).stdout).unwrap();
    for line in [
        "listen = \"127.0.0.1:80\"",
        "brokers = \"a:1,b:2\"",
        "contact_points = \"a:1,b:2\"",
        "allowed_origins = [\"https://a.example\"]",
        "enabled = false",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line} is not in {shown}");
    }
    let refused = readmark(&["config", "check"], &[("READMARK_LISTEN", "chat.example:80")]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("IP address"), "{}", stderr(&refused));
}

fn example() -> String {
    let document = text("docs/configuration.md");
    let example = document.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    example.expect("an example").to_owned()
}

#[test]
fn the_example_is_sound() {
    let example = example();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("readmark.toml");
    std::fs::write(&file, example).unwrap();
    let checked = readmark(&["config", "check", "--config", &file.display().to_string()], &[]);
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
}

/// A TOML document as JSON.
fn as_json(document: &str) -> serde_json::Value {
    let table: toml::Table = document.parse().unwrap();
    serde_json::to_value(table).unwrap()
}

#[test]
fn the_schema_takes_what_the_program_takes() {
    let schema: serde_json::Value =
        serde_json::from_slice(&readmark(&["config", "schema"], &[]).stdout).expect("one JSON document");
    let defaults = String::from_utf8(readmark(&["config", "show"], &[]).stdout).unwrap();
    for sound in [as_json(&defaults), as_json(&example()), as_json("[log]\nbrokers = ['a:1', 'b:2']")] {
        assert_eq!(faults(&schema, &sound), Vec::<String>::new());
    }
    for Row { key, default, .. } in rows() {
        let pointer = format!("/properties/{}", key.replace('.', "/properties/"));
        let described = schema.pointer(&pointer).unwrap_or_else(|| panic!("{key} is not in the schema"));
        let documented = default.map(|text| as_json(&format!("v = {text}"))["v"].clone());
        assert_eq!(described.get("default"), documented.as_ref(), "{key}");
    }
    for wrong in [
        "speed = 9",
        "listen = 8080",
        "[log]\npartitions = 0",
        "[log]\nbrokers = []",
        "[store]\nkind = 'sql'",
        "[receipts]\nexpire_days = 'many'",
    ] {
        assert!(!faults(&schema, &as_json(wrong)).is_empty(), "{wrong}");
    }
}
