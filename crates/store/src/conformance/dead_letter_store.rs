//! Table `dead_letter_state`: what was done about dead letters.

use super::subject::{Subject, at, at_once, permutations};
use readmark_domain::dead_letter::{Actor, LetterId, Outcome, Resolution};

super::cases!(
    unknown_is_empty,
    the_greatest_resolution_is_kept,
    ranges_and_pages,
    partitions_never_mix,
    many_in_one_call,
    concurrent_resolutions_keep_the_greatest,
);

fn resolution(ms: u64, outcome: Outcome, by: Actor) -> Resolution {
    Resolution { at: at(ms), outcome, by }
}

fn dropped(ms: u64) -> Resolution {
    resolution(ms, Outcome::Dropped, Actor::Operator)
}

async fn all_of(s: &Subject, n: u32, last: u64) -> Vec<(LetterId, Resolution)> {
    s.store.resolutions(s.partition(n), 0, last, 10_000).await.unwrap()
}

async fn unknown_is_empty(s: Subject) {
    assert_eq!(all_of(&s, 0, 1_000).await, []);
    s.store.resolve_dead_letters(&[]).await.unwrap();
    assert_eq!(all_of(&s, 0, 1_000).await, []);
}

/// A tie of times is decided as [`Resolution::merge`] decides it, and the value stays in one piece.
async fn the_greatest_resolution_is_kept(s: Subject) {
    let writes = [
        resolution(5, Outcome::Redelivered, Actor::Janitor),
        resolution(5, Outcome::Redelivered, Actor::Operator),
        resolution(5, Outcome::Buried, Actor::Janitor),
        resolution(4, Outcome::Dropped, Actor::Operator),
    ];
    for (offset, order) in (0..).zip(permutations(&writes)) {
        let id = s.letter(0, offset);
        for write in order.iter().chain(&order) {
            s.store.resolve_dead_letters(&[(id, *write)]).await.unwrap();
        }
        assert_eq!(
            s.store.resolutions(id.partition, offset, offset, 9).await.unwrap(),
            [(id, writes[1])],
            "{order:?}"
        );
    }
    let id = s.letter(0, 1_000);
    for write in [resolution(9, Outcome::Buried, Actor::Janitor), dropped(8)] {
        s.store.resolve_dead_letters(&[(id, write)]).await.unwrap();
    }
    let kept = s.store.resolutions(id.partition, 1_000, 1_000, 9).await.unwrap();
    assert_eq!(kept, [(id, resolution(9, Outcome::Buried, Actor::Janitor))], "the later time wins");
}

async fn ranges_and_pages(s: Subject) {
    // 65,535 | 65,536 is where a wide partition may end.
    let all: Vec<_> =
        [0, 1, 127, 65_535, 65_536, 196_608].map(|offset| (s.letter(0, offset), dropped(offset))).into();
    s.store.resolve_dead_letters(&all).await.unwrap();
    let read = |first, last, limit| s.store.resolutions(s.partition(0), first, last, limit);
    assert_eq!(read(0, 200_000, 100).await.unwrap(), all);
    assert_eq!(read(1, 65_535, 100).await.unwrap(), all[1..4]);
    assert_eq!(read(2, 126, 100).await.unwrap(), []);
    assert_eq!(read(2, 1, 100).await.unwrap(), []);
    assert_eq!(read(0, 200_000, 0).await.unwrap(), []);
    assert_eq!(read(1, 200_000, 4).await.unwrap(), all[1..5]);
    assert_eq!(read(65_536, 65_536, 1).await.unwrap(), all[4..5]);
}

async fn partitions_never_mix(s: Subject) {
    let all: Vec<_> = (0..4).map(|n| (s.letter(n, 7), dropped(u64::from(n)))).collect();
    s.store.resolve_dead_letters(&all).await.unwrap();
    for (n, expected) in (0..).zip(&all) {
        assert_eq!(all_of(&s, n, 1_000).await, [*expected]);
    }
}

async fn many_in_one_call(s: Subject) {
    let all: Vec<_> = (65_000..66_200).map(|offset| (s.letter(0, offset), dropped(offset))).collect();
    s.store.resolve_dead_letters(&all).await.unwrap();
    assert_eq!(all_of(&s, 0, 70_000).await, all);
    let twice = [(s.letter(1, 1), dropped(3)), (s.letter(1, 1), dropped(2))];
    s.store.resolve_dead_letters(&twice).await.unwrap();
    assert_eq!(all_of(&s, 1, 9).await, [twice[0]], "the same letter twice in one call");
}

async fn concurrent_resolutions_keep_the_greatest(s: Subject) {
    at_once(12, |task| {
        let s = s.clone();
        async move {
            for n in 0..20 {
                let outcome = [Outcome::Buried, Outcome::Redelivered, Outcome::Dropped][(task % 3) as usize];
                let write = resolution((n * 7 % 20) * 16 + task / 3, outcome, Actor::Janitor);
                s.store.resolve_dead_letters(&[(s.letter(0, 1), write)]).await.unwrap();
            }
        }
    })
    .await;
    let greatest = resolution(19 * 16 + 3, Outcome::Dropped, Actor::Janitor);
    assert_eq!(all_of(&s, 0, 9).await, [(s.letter(0, 1), greatest)]);
}
