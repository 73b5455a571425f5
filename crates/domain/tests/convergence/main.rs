//! State is a merge of facts: any shuffle, repetition and split of any list of facts ends in the same
//! answers, every change of a tally raises its version, and every invariant holds after each step.
//!
//! A failure is shrunk and written to `target/failures/`; `READMARK_REPLAY=<file>` runs just that case.
//! `READMARK_SEED=<number>` repeats a run, `PROPTEST_CASES=<number>` makes it longer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at what is impossible"
)]

mod case;
mod check;
mod generate;
mod model;
mod oracle;
mod replay;

use case::Case;
use model::Rule;

/// A fault may show two whole states; the file says the rest.
const MAX_SHOWN_CHARS: usize = 2_000;

/// For what must be found in every run of the tests.
const KNOWN_SEED: u64 = 1;

#[test]
fn any_order_ends_in_the_same_answers() {
    if let Some(case) = replay::asked_for() {
        check::run(&case, None).unwrap_or_else(|fault| panic!("the replayed case fails: {fault}"));
        println!("the replayed case is fine");
        return;
    }
    let seed = replay::seed();
    if let Err((case, fault)) = generate::first_failure(seed, None) {
        let path = replay::write("any_order", &case);
        let fault: String = fault.chars().take(MAX_SHOWN_CHARS).collect();
        panic!(
            "{fault}\nseed {seed}; the smallest case found is in {path}; to run just that:\n\
             READMARK_REPLAY={path} cargo test -p readmark-domain --test convergence any_order",
            path = path.display()
        );
    }
}

/// The proof can fail: each rule, left out of the model, is missed.
#[test]
fn every_rule_left_out_is_noticed() {
    for rule in Rule::ALL {
        let (case, fault) = generate::first_failure(KNOWN_SEED, Some(rule))
            .err()
            .unwrap_or_else(|| panic!("nothing notices that {rule:?} is left out"));
        let shown: String = fault.chars().take(200).collect();
        println!("without {rule:?}, {} facts: {shown}", case.facts.len());
        assert!(check::run(&case, None).is_ok(), "with {rule:?} the case is fine");
    }
}

/// What a failure leaves behind is the case itself.
#[test]
fn a_replay_file_holds_the_whole_case() {
    let (case, fault) =
        generate::first_failure(KNOWN_SEED, Some(Rule::Parking)).expect_err("without parking acks are lost");
    let path = replay::write("shown", &case);
    let again: Case = replay::read(&path);
    assert_eq!(again, case);
    assert_eq!(check::run(&again, Some(Rule::Parking)), Err(fault));
    std::fs::remove_file(path).expect("just written");
}
