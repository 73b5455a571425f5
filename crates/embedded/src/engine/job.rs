use crate::error::{Failure, JobError};
use redb::WriteTransaction;
use tokio::sync::oneshot;

/// A job whose result's type the writer need not know.
pub(crate) trait AnyJob: Send {
    /// Runs it and keeps the result.
    fn run(&mut self, txn: &WriteTransaction) -> Result<(), JobError>;

    /// Answers: with the result of the last run, or with the failure.
    fn finish(self: Box<Self>, outcome: Result<(), Failure>);
}

pub(crate) struct Job<T, F> {
    run: F,
    value: Option<T>,
    answer: oneshot::Sender<Result<T, Failure>>,
}

impl<T, F> Job<T, F> {
    pub const fn new(run: F, answer: oneshot::Sender<Result<T, Failure>>) -> Self {
        Self { run, value: None, answer }
    }
}

impl<T: Send, F: FnMut(&WriteTransaction) -> Result<T, JobError> + Send> AnyJob for Job<T, F> {
    fn run(&mut self, txn: &WriteTransaction) -> Result<(), JobError> {
        self.value = None;
        self.value = Some((self.run)(txn)?);
        Ok(())
    }

    fn finish(self: Box<Self>, outcome: Result<(), Failure>) {
        let answer = match (outcome, self.value) {
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => Err(Failure::unavailable("the job was not run")),
            (Err(failure), _) => Err(failure),
        };
        // Who asked may have gone away meanwhile.
        let _ = self.answer.send(answer);
    }
}
