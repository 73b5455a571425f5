use super::*;

const WITHIN: Duration = Duration::from_secs(10);

fn group() -> Group {
    Group("g".to_owned())
}

fn acks(partition: u32) -> TopicPartition {
    TopicPartition { topic: Topic::Acks, partition }
}

/// Hears everything that is new, taking what is given; gives what was revoked and what was lost.
fn hear(
    coordinator: &mut Coordinator,
    member: MemberId,
) -> (Vec<TopicPartition>, Vec<TopicPartition>, Vec<TopicPartition>) {
    let (mut given, mut revoked, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        match coordinator.news(&group(), member) {
            News::Given(found) => given.extend(coordinator.take(&group(), member, &found)),
            News::Revoked(found) => revoked.extend(found),
            News::Lost(found) => lost.extend(found),
            News::None => return (given, revoked, lost),
        }
    }
}

#[test]
fn a_second_member_gets_half_once_it_is_released() {
    let now = Instant::now();
    let mut coordinator = Coordinator::new(4, WITHIN);
    let first = coordinator.join(&group(), &[Topic::Acks], now);
    assert_eq!(hear(&mut coordinator, first).0.len(), 4);
    let second = coordinator.join(&group(), &[Topic::Acks], now);
    assert_eq!(hear(&mut coordinator, second), (vec![], vec![], vec![]));
    let (_, revoked, _) = hear(&mut coordinator, first);
    assert_eq!(revoked.len(), 2);
    assert!(coordinator.owns(&group(), first, revoked[0]), "it must be able to commit before it releases");
    assert_eq!(coordinator.reads(&group(), first, revoked[0]), None);
    coordinator.release(&group(), first, &revoked, now);
    assert_eq!(hear(&mut coordinator, second).0, revoked);
    assert!(!coordinator.owns(&group(), first, revoked[0]));
}

#[test]
fn what_is_not_released_in_time_is_lost() {
    let now = Instant::now();
    let mut coordinator = Coordinator::new(2, WITHIN);
    let first = coordinator.join(&group(), &[Topic::Acks], now);
    hear(&mut coordinator, first);
    let second = coordinator.join(&group(), &[Topic::Acks], now);
    let (_, revoked, _) = hear(&mut coordinator, first);
    assert_eq!(coordinator.next_deadline(&group()), Some(now + WITHIN));
    assert!(!coordinator.expire(&group(), now + WITHIN / 2));
    assert!(coordinator.expire(&group(), now + WITHIN));
    assert_eq!(hear(&mut coordinator, second).0, revoked);
    assert_eq!(hear(&mut coordinator, first).2, revoked);
}

#[test]
fn who_leaves_disturbs_nobody_else() {
    let now = Instant::now();
    let mut coordinator = Coordinator::new(6, WITHIN);
    let members: Vec<MemberId> = (0..3).map(|_| coordinator.join(&group(), &[Topic::Acks], now)).collect();
    for _ in 0..3 {
        for member in &members {
            let (_, revoked, _) = hear(&mut coordinator, *member);
            coordinator.release(&group(), *member, &revoked, now);
        }
    }
    let owned = |coordinator: &Coordinator, member| -> Vec<TopicPartition> {
        (0..6).map(acks).filter(|p| coordinator.owns(&group(), member, *p)).collect()
    };
    let before: Vec<_> = members.iter().map(|member| owned(&coordinator, *member)).collect();
    assert_eq!(before.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2]);
    coordinator.leave(&group(), members[1], now);
    for (at, member) in members.iter().enumerate().filter(|(at, _)| *at != 1) {
        let (given, revoked, lost) = hear(&mut coordinator, *member);
        assert_eq!((given.len(), revoked.len(), lost.len()), (1, 0, 0));
        assert!(before[1].contains(&given[0]));
        assert!(before[at].iter().all(|p| coordinator.owns(&group(), *member, *p)));
    }
}

#[test]
fn what_nobody_has_heard_of_moves_at_once() {
    let now = Instant::now();
    let mut coordinator = Coordinator::new(4, WITHIN);
    let first = coordinator.join(&group(), &[Topic::Acks], now);
    let second = coordinator.join(&group(), &[Topic::Acks], now);
    assert_eq!(hear(&mut coordinator, first).0.len(), 2);
    assert_eq!(hear(&mut coordinator, second).0.len(), 2);
}

#[test]
fn a_positions_read_for_an_older_tenure_is_void() {
    let now = Instant::now();
    let mut coordinator = Coordinator::new(1, WITHIN);
    let first = coordinator.join(&group(), &[Topic::Acks], now);
    let News::Given(stale) = coordinator.news(&group(), first) else { panic!("nothing given") };
    coordinator.leave(&group(), first, now);
    let second = coordinator.join(&group(), &[Topic::Acks], now);
    assert_eq!(coordinator.take(&group(), first, &stale), []);
    assert_eq!(coordinator.take(&group(), second, &stale), []);
}

#[test]
fn members_of_different_topics_share_only_what_both_read() {
    let now = Instant::now();
    let mut coordinator = Coordinator::new(2, WITHIN);
    let acks_only = coordinator.join(&group(), &[Topic::Acks], now);
    let both = coordinator.join(&group(), &[Topic::Acks, Topic::Marks], now);
    let (given_acks, _, _) = hear(&mut coordinator, acks_only);
    let (given_both, _, _) = hear(&mut coordinator, both);
    assert!(given_acks.iter().all(|partition| partition.topic == Topic::Acks));
    assert_eq!(given_acks.len() + given_both.len(), 4);
    assert_eq!(given_acks.len(), 2);
}
