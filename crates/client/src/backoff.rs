use crate::error::ClientError;
use std::time::Duration;

/// The first pause.
const FIRST_MS: u64 = 200;
/// The longest.
const LONGEST_MS: u64 = 30_000;

/// How long to wait before the next try after `failures` in a row: twice as long each time, of which a random part
/// between half and all, so that clients cut off together do not come back together. `draw` is from 0 to 1.
#[must_use]
pub(crate) fn pause(failures: u32, draw: f64) -> Duration {
    let full_ms = FIRST_MS.saturating_mul(1 << failures.min(20)).min(LONGEST_MS);
    let ms = full_ms as f64 * (0.5 + draw.clamp(0.0, 1.0) / 2.0);
    Duration::from_millis(ms as u64)
}

/// A server that restarts spreads its clients over so much.
const RESTART_SPREAD_MS: u64 = 5_000;
/// Before another try of a user who has too many connections: one of them must end first.
const TOO_MANY_CONNECTIONS: Duration = Duration::from_secs(60);

/// How long to wait before the next connection, by how the last one ended; `failures` as for [`pause`].
#[must_use]
pub(crate) fn reconnect_after(end: &ClientError, failures: u32, draw: f64) -> Duration {
    match end {
        ClientError::Closed { code: 1012, .. } => {
            Duration::from_millis((RESTART_SPREAD_MS as f64 * draw.clamp(0.0, 1.0)) as u64)
        }
        // The next one is made with another token.
        ClientError::Closed { code: 4001, .. } => Duration::ZERO,
        ClientError::Closed { code: 4003, .. } => TOO_MANY_CONNECTIONS,
        ClientError::Closed { .. }
        | ClientError::Refused { .. }
        | ClientError::Address { .. }
        | ClientError::Token { .. }
        | ClientError::NoAnswer { .. } => pause(failures, draw),
    }
}

/// Tries of what names a message that is not there: with these pauses some minutes, far longer than a message is on its
/// way from the IM.
const BEYOND_HEAD_TRIES_MAX: u32 = 16;

/// When what was refused after `failures` refusals before may be sent again: after as long as the server asks for and up
/// to half of that on top, else after [`pause`]. Nothing when it is refused for good.
#[must_use]
pub(crate) fn again_after(refused: &ClientError, failures: u32, draw: f64) -> Option<Duration> {
    if !refused.is_retryable() {
        return None;
    }
    match refused {
        ClientError::Refused { retry_after: Some(asked), .. } => {
            Some(asked.mul_f64(1.0 + draw.clamp(0.0, 1.0) / 2.0))
        }
        ClientError::Refused { status: 409, .. } if failures >= BEYOND_HEAD_TRIES_MAX => None,
        ClientError::Refused { .. }
        | ClientError::Closed { .. }
        | ClientError::Address { .. }
        | ClientError::Token { .. }
        | ClientError::NoAnswer { .. } => Some(pause(failures, draw)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, problem: &str, retry_after_s: Option<u64>) -> ClientError {
        let (call, problem, detail) = ("read".to_owned(), problem.to_owned(), String::new());
        ClientError::Refused {
            call,
            status,
            problem,
            detail,
            retry_after: retry_after_s.map(Duration::from_secs),
        }
    }

    #[test]
    fn what_is_refused_goes_again_when_the_server_says_and_not_for_ever() {
        let ms =
            |error: &ClientError, failures| again_after(error, failures, 1.0).map(|wait| wait.as_millis());
        assert_eq!(ms(&refused(503, "unavailable", Some(2)), 9), Some(3_000));
        assert_eq!(ms(&refused(429, "rate-limited", Some(1)), 0), Some(1_500));
        let beyond = refused(409, "seq-beyond-head", None);
        assert_eq!(
            [0, 3, 15, 16].map(|failures| ms(&beyond, failures)),
            [Some(200), Some(1_600), Some(30_000), None]
        );
        assert_eq!(ms(&refused(409, "conversation-closed", None), 0), None);
        assert_eq!(ms(&refused(403, "not-a-member", None), 0), None);
    }

    #[test]
    fn a_close_says_when_to_come_back() {
        let ms = |code, failures, draw| {
            let end = ClientError::Closed { call: "ws".to_owned(), code, reason: String::new() };
            reconnect_after(&end, failures, draw).as_millis()
        };
        assert_eq!((ms(1012, 9, 0.0), ms(1012, 0, 1.0)), (0, 5_000));
        assert_eq!((ms(4001, 9, 1.0), ms(4003, 0, 0.0)), (0, 60_000));
        assert_eq!((ms(1013, 0, 1.0), ms(1013, 3, 1.0)), (200, 1_600));
    }

    #[test]
    fn pauses_grow_to_a_bound() {
        let ms = |failures, draw| pause(failures, draw).as_millis();
        assert_eq!((ms(0, 0.0), ms(0, 1.0)), (100, 200));
        assert_eq!((ms(3, 0.0), ms(3, 1.0)), (800, 1_600));
        assert_eq!((ms(60, 0.0), ms(60, 1.0)), (15_000, 30_000));
    }
}
