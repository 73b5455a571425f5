use serde::Serialize;
use std::collections::BTreeMap;

/// The file of `kafka-reassign-partitions.sh`.
#[derive(Serialize)]
struct Reassignment<'a> {
    version: u32,
    partitions: Vec<Partition<'a>>,
}

#[derive(Serialize)]
struct Partition<'a> {
    topic: &'a str,
    partition: usize,
    replicas: Vec<i32>,
}

/// As JSON: each partition keeps its first replicas, so that its leader stays, and gets the brokers that bear the
/// fewest.
pub(super) fn reassignment(
    topic: &str,
    replicas: &[Vec<i32>],
    brokers: &[i32],
    replication: usize,
) -> String {
    let mut borne: BTreeMap<i32, usize> = brokers.iter().map(|broker| (*broker, 0)).collect();
    for broker in replicas.iter().flatten() {
        *borne.entry(*broker).or_default() += 1;
    }
    let partitions = replicas.iter().enumerate().map(|(partition, now)| {
        let mut replicas: Vec<i32> = now.iter().take(replication).copied().collect();
        while replicas.len() < replication {
            let free = brokers.iter().filter(|broker| !replicas.contains(broker));
            let Some(least) = free.min_by_key(|broker| borne.get(*broker)).copied() else { break };
            *borne.entry(least).or_default() += 1;
            replicas.push(least);
        }
        Partition { topic, partition, replicas }
    });
    let file = Reassignment { version: 1, partitions: partitions.collect() };
    serde_json::to_string(&file).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaders_stay_and_load_is_even() {
        let now = [vec![1], vec![2], vec![1, 2]];
        let json = reassignment("t", &now, &[1, 2, 3], 2);
        assert_eq!(
            json,
            r#"{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,3]},{"topic":"t","partition":1,"replicas":[2,3]},{"topic":"t","partition":2,"replicas":[1,2]}]}"#
        );
        let fewer = reassignment("t", &[vec![3, 1, 2]], &[1, 2, 3], 1);
        assert!(fewer.contains(r#""replicas":[3]"#), "{fewer}");
    }
}
