//! Redis: reachable, new enough, and what it does when it is full.

use super::Finding;
use crate::config::Config;
use crate::parts::remedy;
use readmark_hot::redis::{FoundRedis, look};

const CHECK: &str = "redis";
/// The policy under which nothing is thrown away.
const NO_EVICTION: &str = "noeviction";

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let options = match config.hot.redis(&config.log.topic_prefix) {
        Ok(options) => options,
        // The check of the configuration says why.
        Err(failure) => return vec![Finding::not_checked(CHECK, failure)],
    };
    let FoundRedis { is_cluster, masters } = match look(&options).await {
        Ok(found) => found,
        Err(error) => return vec![Finding::failed(CHECK, &error, remedy::of_hot(&error))],
    };
    let kind = match is_cluster {
        true => format!("a cluster of {} master(s) answers", masters.len()),
        false => "one server answers".to_owned(),
    };
    let mut findings = vec![Finding::ok(CHECK, kind)];
    for master in masters {
        if master.is_replica {
            let words = format!("{} is a replica, which can't be written to", master.address);
            findings.push(Finding::failed(CHECK, words, "name its master in hot.url"));
        }
        if master.policy != NO_EVICTION {
            let words = format!(
                "{} throws users' states away when it is full (maxmemory-policy {}): each is rebuilt from the store",
                master.address, master.policy
            );
            findings.push(Finding::warning(
                CHECK,
                words,
                format!("CONFIG SET maxmemory-policy {NO_EVICTION}"),
            ));
        }
    }
    findings
}
