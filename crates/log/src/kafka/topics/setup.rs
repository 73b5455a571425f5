//! Looks at the topics of an installation, and brings them in line where that costs nothing.
//!
//! Both may be interrupted and repeated: a topic is made whole or not at all, the settings of a topic are altered in
//! one request, and everything is looked at anew.

use super::compare::compare;
use super::finding::{Remedy, TopicFinding, TopicReport};
use super::found::{Found, look};
use super::plan::TopicPlan;
use super::{Admin, LEADER_PAUSE, admin, admin_options, create, explained, let_go};
use crate::error::LogError;
use crate::kafka::metadata::Asker;
use crate::kafka::options::KafkaLogOptions;
use crate::kafka::rights;
use crate::kafka::words::Words;
use rdkafka::admin::{AlterConfig, ResourceSpecifier};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What was changed shows at all brokers within this time, or it was refused.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);

/// Compares the topics with their plans; changes nothing.
///
/// # Errors
/// [`crate::LogErrorKind::Unavailable`] when no broker answers, [`crate::LogErrorKind::Refused`] when the client lacks the
/// right to look.
pub async fn check_topics(options: &KafkaLogOptions, plans: &[TopicPlan]) -> Result<TopicReport, LogError> {
    let asker = Asker::new(options)?;
    let admin = Arc::new(admin(options, asker.words())?);
    let found = look(&admin, &asker, options).await;
    let_go((admin, asker)).await;
    Ok(report(options, plans, compare(options, plans, &found?)))
}

/// Makes the topics that are missing and alters the settings that may be altered without loss; tells what it did and
/// what is left to an operator. Settings of a topic that are in no plan stay as they are.
///
/// # Errors
/// As [`check_topics`], and [`crate::LogErrorKind::Refused`] when the brokers refuse to make a topic. What was done before
/// stands.
pub async fn setup_topics(options: &KafkaLogOptions, plans: &[TopicPlan]) -> Result<TopicReport, LogError> {
    let asker = Asker::new(options)?;
    let admin = Arc::new(admin(options, asker.words())?);
    let findings = setup(&admin, &asker, options, plans).await;
    let_go((admin, asker)).await;
    Ok(report(options, plans, findings?))
}

fn report(options: &KafkaLogOptions, plans: &[TopicPlan], findings: Vec<TopicFinding>) -> TopicReport {
    TopicReport {
        topics: plans.iter().map(|plan| plan.topic.full_name(&options.topic_prefix)).collect(),
        findings,
    }
}

async fn setup(
    admin: &Arc<Admin>,
    asker: &Arc<Asker>,
    options: &KafkaLogOptions,
    plans: &[TopicPlan],
) -> Result<Vec<TopicFinding>, LogError> {
    let found = look(admin, asker, options).await?;
    let before = compare(options, plans, &found);
    let is_ours = |finding: &&TopicFinding| finding.remedy == Remedy::Setup;
    let ours: Vec<&TopicFinding> = before.iter().filter(is_ours).collect();
    let is_missing = |plan: &&TopicPlan| {
        let name = plan.topic.full_name(&options.topic_prefix);
        ours.iter().any(|finding| finding.topic == name && finding.found.is_none())
    };
    let missing: Vec<TopicPlan> = plans.iter().filter(is_missing).cloned().collect();
    if !missing.is_empty() {
        create(admin, asker.words(), options, &missing).await?;
    }
    alter(admin, asker.words(), &found, &ours).await?;
    let mut findings = settled(admin, asker, options, plans, !ours.is_empty()).await?;
    for left in findings.iter_mut().filter(|left| left.remedy == Remedy::Setup) {
        left.remedy = Remedy::Operator;
        let needs = rights::on_topic("AlterConfigs", &left.topic);
        left.advice = format!("{}. The brokers did not take it: the client needs {needs}", left.advice);
    }
    for finding in before {
        let is_left =
            findings.iter().any(|left| left.topic == finding.topic && left.matter == finding.matter);
        if !is_left && finding.remedy == Remedy::Setup {
            findings.push(TopicFinding { remedy: Remedy::Done, stops_serving: false, ..finding });
        }
    }
    findings.sort_by(|a, b| (&a.topic, &a.matter).cmp(&(&b.topic, &b.matter)));
    Ok(findings)
}

/// Looks until what was changed shows: the broker that is asked may hear of it later than the one that did it.
async fn settled(
    admin: &Arc<Admin>,
    asker: &Arc<Asker>,
    options: &KafkaLogOptions,
    plans: &[TopicPlan],
    has_changed: bool,
) -> Result<Vec<TopicFinding>, LogError> {
    let deadline = Instant::now() + SHOWN_WITHIN;
    loop {
        let findings = compare(options, plans, &look(admin, asker, options).await?);
        let is_settled = findings.iter().all(|finding| finding.remedy != Remedy::Setup);
        if is_settled || !has_changed || Instant::now() >= deadline {
            return Ok(findings);
        }
        tokio::time::sleep(LEADER_PAUSE).await;
    }
}

/// Sets what differs. The request replaces all settings of a topic, so it bears all of them.
async fn alter(
    admin: &Arc<Admin>,
    words: &Arc<Words>,
    found: &Found,
    ours: &[&TopicFinding],
) -> Result<(), LogError> {
    let changed: BTreeSet<&str> =
        ours.iter().filter(|finding| finding.found.is_some()).map(|finding| finding.topic.as_str()).collect();
    for name in changed {
        let Some(topic) = found.topics.get(name) else { continue };
        let own = topic.settings.iter().filter(|(_, setting)| setting.is_own);
        let mut settings: BTreeMap<&str, &str> =
            own.map(|(name, setting)| (name.as_str(), setting.value.as_str())).collect();
        let wanted = ours.iter().filter(|finding| finding.topic == name);
        settings.extend(wanted.map(|finding| (finding.matter.as_str(), finding.wanted.as_str())));
        let request = AlterConfig::new(ResourceSpecifier::Topic(name));
        let request = settings.into_iter().fold(request, |request, (name, value)| request.set(name, value));
        // The library tells of no refusal of a topic: whether it was done is looked at afterwards.
        admin
            .alter_configs(&[request], &admin_options())
            .await
            .map_err(|error| explained("alter a topic's settings", &error, words))?;
    }
    Ok(())
}
