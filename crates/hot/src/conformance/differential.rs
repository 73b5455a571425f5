//! The hot state under test beside the pure functions: the same calls, the same answers.

use super::generator::{CONVERSATIONS, Generator, Operation, USERS};
use super::hands::{DEADLINE, id, uid};
use super::subject::{Loss, Subject};
use crate::error::HotError;
use crate::port::{Begun, Held, HotState};
use readmark_domain::hot::{Applied, Completed, Epoch, SyncToken, User, Version};
use readmark_domain::id::Uid;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Operations between two comparisons of everything.
const STEP: usize = 10;

/// Makes `operations` random calls on the subject and on the pure functions, with losses, repeats and, where the
/// subject can, lost answers; compares every answer, and every few calls everything that can be read.
///
/// # Panics
/// At the first answer that differs, with the seed and the calls that led there.
pub async fn differential(subject: Box<dyn Subject>, seed: u64, operations: usize) {
    let mut run =
        Run { subject, users: BTreeMap::new(), generator: Generator::new(seed), lost_answer: false };
    let mut done: Vec<String> = Vec::new();
    for n in 1..=operations {
        let operation = run.generator.operation();
        done.push(format!("{operation:?}"));
        let outcome = match run.step(operation).await {
            Ok(()) if n.is_multiple_of(STEP) || run.lost_answer => run.compare().await,
            outcome => outcome,
        };
        if let Err(difference) = outcome {
            let from = done.len().saturating_sub(2 * STEP);
            panic!(
                "seed {seed}, operation {n}: {difference}\nthe last operations:\n{}",
                done[from..].join("\n")
            );
        }
    }
}

struct Run {
    subject: Box<dyn Subject>,
    users: BTreeMap<Uid, User>,
    generator: Generator,
    /// Was an answer of this step lost, and the call repeated?
    lost_answer: bool,
}

type Compared = Result<(), String>;

fn same<T: PartialEq + Debug>(what: impl Debug, tested: T, wanted: T) -> Compared {
    if tested == wanted {
        return Ok(());
    }
    Err(format!("{what:?}\n  tested: {tested:?}\nexpected: {wanted:?}"))
}

/// Makes a call until it is answered.
async fn answered<T>(mut call: impl AsyncFnMut() -> Result<T, HotError>) -> T {
    let start = Instant::now();
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(error) => {
                assert!(error.is_retryable() && start.elapsed() < DEADLINE, "{error}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

impl Run {
    fn hot(&self) -> Arc<dyn HotState> {
        self.subject.hot()
    }

    async fn step(&mut self, operation: Operation) -> Compared {
        self.lost_answer = self.generator.one_in(4) && self.subject.lose_next_answer();
        match operation {
            Operation::Apply(changes) => {
                let hot = self.hot();
                let mut answers = hot.apply(&changes).await.into_iter();
                for told in &changes {
                    let one = std::slice::from_ref(told);
                    let first = answers.next().unwrap_or_else(|| panic!("an answer for each change"));
                    let tested = retried(first, async || hot.apply(one).await.remove(0)).await;
                    let wanted = self
                        .users
                        .get_mut(&told.uid)
                        .map(|user| user.apply(&told.conversation_id, &told.change));
                    if let Some(range) = wanted.and_then(|applied| applied.to_count) {
                        self.generator.asked.push((told.uid, told.conversation_id.clone(), range));
                    }
                    self.same_applied(told, tested, wanted)?;
                }
            }
            Operation::ApplyTallies(tallies) => {
                let hot = self.hot();
                let mut answers = hot.apply_tallies(&tallies).await.into_iter();
                for told in &tallies {
                    let one = std::slice::from_ref(told);
                    let first = answers.next().unwrap_or_else(|| panic!("an answer for each tally"));
                    let tested = retried(first, async || hot.apply_tallies(one).await.remove(0)).await;
                    let wanted = self.users.get_mut(&told.uid).map(|user| user.apply_tally(&told.change));
                    self.same_applied(told, tested, wanted)?;
                }
            }
            Operation::Begin(uid) => return self.begin(uid).await,
            Operation::Complete(uid) => return self.complete(uid).await,
            Operation::Forget(uid) => {
                let hot = self.hot();
                answered(async || hot.forget(uid).await).await;
                self.users.remove(&uid);
            }
            Operation::ForgetAll => {
                let hot = self.hot();
                answered(async || hot.forget_all().await).await;
                self.users.clear();
            }
            Operation::Touch(uid) => {
                let hot = self.hot();
                let touched = answered(async || hot.touch(uid).await).await;
                return same(format!("touch {uid}"), touched, self.held(uid, |_| ()));
            }
            Operation::Lose(loss) => {
                self.subject.lose(loss).await;
                if loss != Loss::Scripts {
                    self.users.clear();
                }
            }
        }
        Ok(())
    }

    /// The repeat of a call whose answer was lost appends nothing, is asked to count nothing that it has told, and
    /// answers what came after it too. So then only the state must be the same.
    fn same_applied(&self, told: impl Debug, tested: Option<Applied>, wanted: Option<Applied>) -> Compared {
        if !self.lost_answer {
            return same(told, tested, wanted);
        }
        same(told, tested.is_some(), wanted.is_some())
    }

    async fn begin(&mut self, uid: Uid) -> Compared {
        let hot = self.hot();
        let begun = answered(async || hot.begin_rebuild(uid).await).await;
        match self.users.get(&uid) {
            Some(user) if user.is_complete() => same(format!("begin {uid}"), begun, Begun::Complete),
            Some(_) => same(format!("begin {uid}"), begun, Begun::Running),
            None => match begun {
                Begun::Rebuild(epoch) => {
                    self.users.insert(uid, User::new(epoch));
                    Ok(())
                }
                // Begun, but its answer was lost more often than the adapter repeats it.
                Begun::Running if self.lost_answer => {
                    answered(async || hot.forget(uid).await).await;
                    Ok(())
                }
                other => Err(format!("begin {uid}: {other:?}, and there is no state")),
            },
        }
    }

    async fn complete(&mut self, uid: Uid) -> Compared {
        let known = self.users.get(&uid).map(|user| user.epoch().clone());
        let epoch = known.unwrap_or_else(|| Epoch::of_random(1));
        let hot = self.hot();
        let tested = answered(async || hot.complete_rebuild(uid, &epoch).await).await;
        let wanted = self.users.get_mut(&uid).map_or(Completed::Lost, |user| user.complete(&epoch));
        if let Completed::ToCount(to_count) = &wanted {
            let asked = to_count.iter().map(|(id, range)| (uid, id.clone(), *range));
            self.generator.asked.extend(asked);
        }
        same(format!("complete {uid}"), sorted(tested), sorted(wanted))
    }

    fn held<T>(&self, uid: Uid, read: impl FnOnce(&User) -> T) -> Held<T> {
        match self.users.get(&uid) {
            None => Held::Missing,
            Some(user) if !user.is_complete() => Held::Incomplete,
            Some(user) => Held::Complete(read(user)),
        }
    }

    /// Everything that can be read.
    async fn compare(&mut self) -> Compared {
        let hot = self.hot();
        for uid in (0..USERS).map(uid) {
            let tested = answered(async || hot.picture(uid, None).await).await;
            same(format!("picture of {uid}"), tested, self.held(uid, |user| user.picture(None)))?;
            let only = [id(CONVERSATIONS[1]), id("x"), id(CONVERSATIONS[0])];
            let tested = answered(async || hot.picture(uid, Some(&only)).await).await;
            same(format!("rows of {uid}"), tested, self.held(uid, |user| user.picture(Some(&only))))?;
            let token = self.users.get(&uid).map(User::token);
            let token = token.unwrap_or(SyncToken { epoch: Epoch::of_random(1), version: Version::ZERO });
            let newest = token.version.get();
            let some = self.generator.below(newest + 2);
            let limit = usize::try_from(self.generator.below(20)).expect("small") + 1;
            for (version, limit) in [(0, 2_000), (some, limit), (newest, limit), (newest + 1, limit)] {
                let since = SyncToken { version: Version::new(version).expect("small"), ..token.clone() };
                let tested = answered(async || hot.entries(uid, &since, limit).await).await;
                same(
                    format!("{uid} since {since}"),
                    tested,
                    self.held(uid, |user| user.entries(&since, limit)),
                )?;
            }
        }
        Ok(())
    }
}

/// The first answer, or that of a repeat.
async fn retried<T>(first: Result<T, HotError>, again: impl AsyncFnMut() -> Result<T, HotError>) -> T {
    match first {
        Ok(answer) => answer,
        Err(error) => {
            assert!(error.is_retryable(), "{error}");
            answered(again).await
        }
    }
}

fn sorted(completed: Completed) -> Completed {
    match completed {
        Completed::ToCount(mut all) => {
            all.sort_by(|a, b| a.0.cmp(&b.0));
            Completed::ToCount(all)
        }
        other => other,
    }
}
