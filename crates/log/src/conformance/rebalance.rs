use super::Subject;
use super::hands::{DEADLINE, TOPIC, at, fill_all, group, take_assigned, take_records};
use super::member::{Journal, Member, Stores, lock, until};
use crate::LogErrorKind;
use crate::port::PolledEvent;
use crate::record::TopicPartition;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

super::cases!(
    two_members_share,
    revoke_then_store_then_release,
    who_closes_hands_over,
    who_crashes_hands_over_what_it_did_not_store,
    members_come_and_go_under_traffic,
);

async fn two_members_share(subject: Box<dyn Subject>) {
    let log = subject.log();
    let (group, journal) = (group("share"), Arc::new(Mutex::new(Journal::default())));
    let partitions = log.partitions(TOPIC) as usize;
    assert!(partitions >= 2, "this case needs two partitions");
    let first = Member::start(&*log, &group, 1, Stores::EachBatch, &journal).await;
    until(&journal, "the first owns all", |journal| journal.owned_by(1) == partitions).await;
    let second = Member::start(&*log, &group, 2, Stores::EachBatch, &journal).await;
    until(&journal, "both own their half", |journal| {
        journal.owned_by(1) == partitions.div_ceil(2) && journal.owned_by(2) == partitions / 2
    })
    .await;
    let all = fill_all(&*log, 20).await;
    until(&journal, "all handled", |journal| journal.handled_of(&all) == all.len()).await;
    first.stop().await;
    second.stop().await;
    let journal = lock(&journal);
    journal.check();
    assert_eq!(journal.handled_more_than_once(), 0);
}

/// By hand: until the release the partition stays where it is, and what is stored before it counts.
async fn revoke_then_store_then_release(subject: Box<dyn Subject>) {
    let log = subject.log();
    let group = group("revoke");
    let partitions = log.partitions(TOPIC) as usize;
    let all = fill_all(&*log, 10).await;
    let mut first = log.join(&group, &[TOPIC]).await.unwrap();
    take_records(&mut *first, all.len()).await;
    let mut second = log.join(&group, &[TOPIC]).await.unwrap();
    let start = Instant::now();
    let mut revoked: Vec<TopicPartition> = Vec::new();
    while revoked.is_empty() {
        assert!(start.elapsed() < DEADLINE, "nothing was revoked");
        // Both must be polled for the group to move on; the second must get nothing yet.
        match second.next(10).await.unwrap() {
            PolledEvent::Idle => {}
            PolledEvent::Assigned(given) if given.is_empty() => {}
            other => panic!("before the release the second got {other:?}"),
        }
        match first.next(10).await.unwrap() {
            PolledEvent::Revoked(partitions) => revoked = partitions,
            PolledEvent::Idle => {}
            other => panic!("the first got {other:?}"),
        }
    }
    assert_eq!(revoked.len(), partitions / 2, "sticky: no more than needed moves");
    let positions: Vec<_> = revoked.iter().map(|partition| (*partition, 7)).collect();
    first.commit(&positions).await.unwrap();
    first.release(&revoked).await.unwrap();
    let error = first.commit(&[(revoked[0], 9)]).await.expect_err("it has given that back");
    assert_eq!(error.kind, LogErrorKind::NotOwner, "{error}");
    let given = take_assigned(&mut *second, revoked.len()).await;
    assert_eq!(given, revoked.iter().copied().collect::<BTreeSet<_>>());
    let records = take_records(&mut *second, 3 * revoked.len()).await;
    assert!(records.iter().all(|record| record.position.offset >= 7));
    let kept = (0..log.partitions(TOPIC)).map(at).find(|partition| !revoked.contains(partition)).unwrap();
    first.commit(&[(kept, 10)]).await.unwrap();
}

async fn who_closes_hands_over(subject: Box<dyn Subject>) {
    let log = subject.log();
    let (group, journal) = (group("close"), Arc::new(Mutex::new(Journal::default())));
    let partitions = log.partitions(TOPIC) as usize;
    let first = Member::start(&*log, &group, 1, Stores::WhenRevoked, &journal).await;
    let second = Member::start(&*log, &group, 2, Stores::WhenRevoked, &journal).await;
    let all = fill_all(&*log, 20).await;
    until(&journal, "all handled", |journal| journal.handled_of(&all) == all.len()).await;
    first.stop().await;
    until(&journal, "the second owns all", |journal| journal.owned_by(2) == partitions).await;
    let more = fill_all(&*log, 5).await;
    until(&journal, "the rest handled", |journal| journal.handled_of(&more) == more.len()).await;
    second.stop().await;
    let journal = lock(&journal);
    journal.check();
    assert_eq!(journal.handled_more_than_once(), 0);
}

async fn who_crashes_hands_over_what_it_did_not_store(subject: Box<dyn Subject>) {
    let log = subject.log();
    let (group, journal) = (group("crash"), Arc::new(Mutex::new(Journal::default())));
    let all = fill_all(&*log, 20).await;
    let first = Member::start(&*log, &group, 1, Stores::WhenRevoked, &journal).await;
    until(&journal, "the first handled all", |journal| journal.handled_of(&all) == all.len()).await;
    first.crash().await;
    assert_eq!(log.committed(&group, at(0)).await.unwrap(), None);
    let second = Member::start(&*log, &group, 2, Stores::EachBatch, &journal).await;
    until(&journal, "the second handled all again", |journal| journal.handled_more_than_once() == all.len())
        .await;
    second.stop().await;
    lock(&journal).check();
}

async fn members_come_and_go_under_traffic(subject: Box<dyn Subject>) {
    const ROUNDS: u32 = 12;
    let log = subject.log();
    let (group, journal) = (group("churn"), Arc::new(Mutex::new(Journal::default())));
    let appending = {
        let log = subject.log();
        tokio::spawn(async move {
            let mut all = BTreeSet::new();
            for _ in 0..60 {
                all.extend(fill_all(&*log, 5).await);
            }
            all
        })
    };
    let mut members = vec![Member::start(&*log, &group, 0, Stores::EachBatch, &journal).await];
    for round in 1..=ROUNDS {
        let stores = if round % 2 == 0 { Stores::EachBatch } else { Stores::WhenRevoked };
        members.push(Member::start(&*log, &group, round, stores, &journal).await);
        until(&journal, "the new member owns something", |journal| journal.owned_by(round) > 0).await;
        if members.len() > 2 {
            let gone = members.remove(0);
            if round % 3 == 0 { gone.crash().await } else { gone.stop().await }
        }
    }
    let all = appending.await.unwrap();
    until(&journal, "all handled", |journal| journal.handled_of(&all) == all.len()).await;
    for member in members {
        member.stop().await;
    }
    lock(&journal).check();
    for partition in 0..log.partitions(TOPIC) {
        let end = log.end_offset(at(partition)).await.unwrap();
        assert_eq!(log.committed(&group, at(partition)).await.unwrap(), Some(end));
    }
}
