//! What differs between topics as planned and as found: pure, and who puts each difference right.

use super::finding::{Remedy, TopicFinding};
use super::found::{Found, FoundTopic};
use super::plan::{
    CLEANUP_POLICY, MESSAGE_BYTES, MIN_INSYNC, RETENTION_BYTES, RETENTION_MS, TIMESTAMP_TYPE, TopicPlan,
    UNCLEAN_ELECTION, WITHOUT_END,
};
use super::reassign::reassignment;
use crate::kafka::options::KafkaLogOptions;

/// The differences, topic by topic.
pub(super) fn compare(options: &KafkaLogOptions, plans: &[TopicPlan], found: &Found) -> Vec<TopicFinding> {
    let mut findings = Vec::new();
    for plan in plans {
        let name = plan.topic.full_name(&options.topic_prefix);
        match found.topics.get(&name) {
            None => findings.push(missing(plan, name, found)),
            Some(topic) => Comparison { options, plan, name, topic, found }.into(&mut findings),
        }
    }
    findings
}

fn missing(plan: &TopicPlan, name: String, found: &Found) -> TopicFinding {
    let TopicPlan { partitions, replication, .. } = plan;
    let brokers = found.brokers.len();
    let is_possible = usize::try_from(*replication).is_ok_and(|replication| replication <= brokers);
    let advice = if is_possible {
        "setup makes it".to_owned()
    } else {
        format!(
            "{replication} copies of each record need {replication} brokers and there are {brokers}: add brokers, or \
             set log.replication to {brokers}"
        )
    };
    TopicFinding {
        topic: name,
        matter: "topic".to_owned(),
        wanted: format!("{partitions} partitions, replication {replication}"),
        found: None,
        stops_serving: true,
        remedy: if is_possible { Remedy::Setup } else { Remedy::Operator },
        advice,
        commands: Vec::new(),
    }
}

/// What is to be done about a setting.
struct Verdict {
    remedy: Remedy,
    advice: String,
    /// Does setting it as planned put it right?
    is_to_be_set: bool,
}

impl Verdict {
    fn setup(advice: impl Into<String>) -> Option<Self> {
        Some(Self { remedy: Remedy::Setup, advice: advice.into(), is_to_be_set: true })
    }

    /// Set by whoever accepts what it costs.
    fn choice(advice: impl Into<String>) -> Option<Self> {
        Some(Self { remedy: Remedy::Operator, advice: advice.into(), is_to_be_set: true })
    }

    /// Something else is to be done first, or instead.
    fn not_yet(advice: impl Into<String>) -> Option<Self> {
        Some(Self { remedy: Remedy::Operator, advice: advice.into(), is_to_be_set: false })
    }
}

struct Comparison<'a> {
    options: &'a KafkaLogOptions,
    plan: &'a TopicPlan,
    name: String,
    topic: &'a FoundTopic,
    found: &'a Found,
}

impl Comparison<'_> {
    fn into(self, findings: &mut Vec<TopicFinding>) {
        findings.extend(self.partitions());
        findings.extend(self.replication());
        for (setting, wanted) in &self.plan.settings {
            let Some(value) = self.topic.settings.get(setting).map(|found| found.value.as_str()) else {
                continue;
            };
            let Some(verdict) = self.setting(setting, wanted, value) else { continue };
            let by_hand = format!(
                "kafka-configs.sh {} --alter --entity-type topics --entity-name {} --add-config {setting}={wanted}",
                self.tool_options(),
                self.name
            );
            findings.push(TopicFinding {
                stops_serving: setting == CLEANUP_POLICY,
                remedy: verdict.remedy,
                commands: if verdict.is_to_be_set { vec![by_hand] } else { Vec::new() },
                ..self.finding(setting, wanted, value, verdict.advice)
            });
        }
    }

    fn finding(&self, matter: &str, wanted: &str, found: &str, advice: String) -> TopicFinding {
        TopicFinding {
            topic: self.name.clone(),
            matter: matter.to_owned(),
            wanted: wanted.to_owned(),
            found: Some(found.to_owned()),
            stops_serving: false,
            remedy: Remedy::Operator,
            advice,
            commands: Vec::new(),
        }
    }

    /// What Kafka's own tools need to reach the cluster.
    fn tool_options(&self) -> String {
        let protocol = self.options.settings.get("security.protocol").map(String::as_str);
        let login = match protocol {
            None | Some("plaintext") => "",
            Some(_) => " --command-config client.properties",
        };
        format!("--bootstrap-server {}{login}", self.options.brokers)
    }

    fn partitions(&self) -> Option<TopicFinding> {
        let (wanted, found) = (self.plan.partitions as usize, self.topic.replicas.len());
        if wanted == found {
            return None;
        }
        let mut commands = Vec::new();
        let advice = if found < wanted {
            commands.push(format!(
                "kafka-topics.sh {} --alter --topic {} --partitions {wanted}",
                self.tool_options(),
                self.name
            ));
            format!(
                "setup adds no partitions: adding partitions moves senders between owners. Set log.partitions to {found}; or \
                 grow every topic by hand while no role runs and nothing is left unread in the topics: no state is lost, \
                 but what is still unread then may be told up to a minute late"
            )
        } else {
            format!(
                "Kafka takes no partitions away. Set log.partitions to {found}, or choose another log.topic_prefix and let \
                 the facts be delivered again"
            )
        };
        let finding = self.finding("partitions", &wanted.to_string(), &found.to_string(), advice);
        Some(TopicFinding { stops_serving: true, commands, ..finding })
    }

    fn replication(&self) -> Option<TopicFinding> {
        let wanted = self.plan.replication as usize;
        let (fewest, most) = self.topic.replication();
        if (fewest, most) == (wanted, wanted) {
            return None;
        }
        let found = if fewest == most { fewest.to_string() } else { format!("{fewest} to {most}") };
        let mut commands = Vec::new();
        let brokers = self.found.brokers.len();
        let advice = if wanted > brokers {
            format!(
                "{wanted} copies of each record need {wanted} brokers and there are {brokers}: add brokers first, or set \
                 log.replication to {fewest}"
            )
        } else {
            let json = reassignment(&self.name, &self.topic.replicas, &self.found.brokers, wanted);
            commands.push(format!(
                "kafka-reassign-partitions.sh {} --execute --reassignment-json-file /dev/stdin <<'JSON'\n{json}\nJSON",
                self.tool_options()
            ));
            let fewer = "copies would go: set log.replication to what is there, or let the brokers drop them";
            let more = "a broker that is lost takes what it alone has with it: let the brokers make the copies (it costs \
                        them bandwidth), then run setup again";
            if wanted < most && wanted <= fewest { fewer } else { more }.to_owned()
        };
        let finding = self.finding("replication", &wanted.to_string(), &found, advice);
        Some(TopicFinding { commands, ..finding })
    }

    fn setting(&self, setting: &str, wanted: &str, found: &str) -> Option<Verdict> {
        match setting {
            RETENTION_MS => retention(wanted, found),
            MIN_INSYNC => self.min_insync(number(wanted)?, number(found)?),
            MESSAGE_BYTES if number(found)? >= number(wanted)? => None,
            _ if wanted == found => None,
            CLEANUP_POLICY => Verdict::setup(
                "any policy but delete throws facts away before their time. What is gone already comes back only when it is \
                 delivered again",
            ),
            RETENTION_BYTES => Verdict::setup("records would go by size, before their time"),
            TIMESTAMP_TYPE => Verdict::setup(
                "look-ups by time rely on times that never fall. Records that are there keep those of their producers",
            ),
            MESSAGE_BYTES => Verdict::setup("large records would be refused"),
            UNCLEAN_ELECTION => {
                Verdict::setup("a broker that has not kept up could make acknowledged records go")
            }
            _ => Verdict::choice("not as planned"),
        }
    }

    /// How many copies must be there before an append is acknowledged.
    fn min_insync(&self, wanted: i64, found: i64) -> Option<Verdict> {
        let (fewest, most) = self.topic.replication();
        let copies = i64::try_from(fewest).unwrap_or(i64::MAX);
        let is_as_planned = fewest == most && fewest == self.plan.replication as usize;
        if wanted == found {
            None
        } else if found > copies {
            Verdict::setup(format!(
                "where there are fewer copies ({copies}), {found} are never in sync: every append is refused"
            ))
        } else if found < wanted && wanted < copies {
            Verdict::setup("an acknowledged record may be on a single broker and be lost with it")
        } else if found < wanted {
            Verdict::not_yet(format!(
                "with so few copies ({copies}) every append would stop as soon as one broker is away: raise the replication \
                 first, then run setup again"
            ))
        } else if is_as_planned {
            Verdict::setup("appends stop as soon as one broker is away")
        } else {
            Verdict::not_yet(
                "lowering it would weaken what an acknowledgement means: set log.replication to what the topic has",
            )
        }
    }
}

/// Longer is safe; shorter lets records go for good.
fn retention(wanted: &str, found: &str) -> Option<Verdict> {
    let ms = |text: &str| match text {
        WITHOUT_END => Some(i64::MAX),
        text => number(text),
    };
    match ms(wanted)?.cmp(&ms(found)?) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Verdict::setup("records would go before their time"),
        std::cmp::Ordering::Less => Verdict::choice(
            "records are kept longer than planned, which costs space only; shorter lets those that are older go for good",
        ),
    }
}

/// What is no number is taken as the brokers' own affair.
fn number(text: &str) -> Option<i64> {
    text.parse().ok()
}
