//! Section `log`.

use super::addresses::Addresses;
use super::secret::{Secret, given_twice};
use super::together::{Clash, half_a_pair};
use crate::exit::Failure;
use readmark_log::kafka::KafkaLogOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LogSection {
    /// Where it is.
    pub kind: LogKind,
    /// Begins the names of topics and groups: 1 to 64 letters, digits, dots, dashes or underscores.
    pub topic_prefix: String,
    /// Partitions of each topic, chosen once: the number decides where every key lies. 64 where nothing is said with
    /// kafka; 64 at most with embedded.
    pub partitions: u32,
    /// Some brokers of the Kafka cluster, host:port each; the others are found.
    pub brokers: Addresses,
    /// On how many brokers `readmark setup` puts each topic; 3, or as many as there are, where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication: Option<u16>,
    /// What this process is called in its consumer groups; no two may be called the same. Host and listen address
    /// where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// How long a process may be silent, in milliseconds, until its partitions go to others: longer than its own restart
    /// and that of a broker.
    pub session_timeout_ms: u64,
    /// How to talk to the brokers.
    pub security_protocol: SecurityProtocol,
    /// How the user logs in.
    pub security_mechanism: SaslMechanism,
    /// Who logs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_user: Option<String>,
    /// Its password; rather in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_password: Option<Secret>,
    /// The file that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_password_file: Option<PathBuf>,
    /// PEM file of the authorities that sign the brokers' certificates; the system's where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_ca_file: Option<PathBuf>,
    /// PEM file of the client's certificate, together with its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_certificate_file: Option<PathBuf>,
    /// PEM file of that key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_key_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogKind {
    /// In a file of the data directory, for one process with all roles.
    Embedded,
    /// On a Kafka cluster.
    Kafka,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SecurityProtocol {
    Plaintext,
    Ssl,
    SaslPlaintext,
    SaslSsl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum SaslMechanism {
    #[serde(rename = "PLAIN")]
    Plain,
    #[serde(rename = "SCRAM-SHA-256")]
    ScramSha256,
    #[serde(rename = "SCRAM-SHA-512")]
    ScramSha512,
}

impl SaslMechanism {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

impl SecurityProtocol {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Plaintext => "plaintext",
            Self::Ssl => "ssl",
            Self::SaslPlaintext => "sasl_plaintext",
            Self::SaslSsl => "sasl_ssl",
        }
    }

    const fn logs_in(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

/// Partitions where nothing is said: the embedded log is one process, a cluster has many.
pub(super) const fn default_partitions(kind: LogKind) -> u32 {
    match kind {
        LogKind::Embedded => 4,
        LogKind::Kafka => 64,
    }
}

/// Longer than a restart takes, short enough that a machine that is gone holds up its readers for seconds only.
const SESSION_TIMEOUT_MS: u64 = 20_000;

impl Default for LogSection {
    fn default() -> Self {
        Self {
            kind: LogKind::Embedded,
            topic_prefix: "readmark".to_owned(),
            partitions: default_partitions(LogKind::Embedded),
            brokers: Addresses::one("127.0.0.1:9092"),
            replication: None,
            instance_id: None,
            session_timeout_ms: SESSION_TIMEOUT_MS,
            security_protocol: SecurityProtocol::Plaintext,
            security_mechanism: SaslMechanism::ScramSha512,
            security_user: None,
            security_password: None,
            security_password_file: None,
            security_ca_file: None,
            security_certificate_file: None,
            security_key_file: None,
        }
    }
}

impl LogSection {
    /// What keys say against each other.
    pub(super) fn clashes(&self) -> Vec<Clash> {
        let mut clashes = Vec::new();
        clashes.extend(given_twice(
            "log.security_password",
            self.security_password.as_ref(),
            self.security_password_file.as_deref(),
        ));
        let has_password = self.security_password.is_some() || self.security_password_file.is_some();
        if self.security_protocol.logs_in() && (self.security_user.is_none() || !has_password) {
            clashes.push(Clash::of(
                &[
                    "log.security_protocol",
                    "log.security_user",
                    "log.security_password",
                    "log.security_password_file",
                ],
                format!(
                    "log.security_protocol: {} needs log.security_user and log.security_password_file",
                    self.security_protocol.as_str()
                ),
            ));
        }
        clashes.extend(half_a_pair(
            ("log.security_certificate_file", self.security_certificate_file.is_some()),
            ("log.security_key_file", self.security_key_file.is_some()),
        ));
        clashes
    }

    /// How to reach Kafka; `instance_id` is used where none is configured.
    pub fn kafka(&self, instance_id: Option<String>) -> Result<KafkaLogOptions, Failure> {
        let password = Secret::of(
            "log.security_password_file",
            self.security_password.as_ref(),
            self.security_password_file.as_deref(),
        )?;
        let mut settings = BTreeMap::new();
        let mut set = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                settings.insert(name.to_owned(), value);
            }
        };
        set("security.protocol", Some(self.security_protocol.as_str().to_owned()));
        if self.security_protocol.logs_in() {
            set("sasl.mechanism", Some(self.security_mechanism.as_str().to_owned()));
            set("sasl.username", self.security_user.clone());
            set("sasl.password", password);
        }
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        set("ssl.ca.location", path(&self.security_ca_file));
        set("ssl.certificate.location", path(&self.security_certificate_file));
        set("ssl.key.location", path(&self.security_key_file));
        let mut options = KafkaLogOptions::new(self.brokers.joined(), &self.topic_prefix);
        options.settings = settings;
        options.partitions = Some(self.partitions);
        options.instance_id = instance_id;
        options.session_timeout = Duration::from_millis(self.session_timeout_ms);
        // A role that hangs is no better than one that is silent, and may not be given less time.
        options.max_poll_interval = options.max_poll_interval.max(options.session_timeout);
        Ok(options)
    }
}
