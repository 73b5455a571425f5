use crate::time::{Order, OrderSource, TimeMs};

/// Why a well-formed fact can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FactError {
    /// The installation orders such facts by `version`, and there is none.
    #[error(
        "version is missing: this installation orders facts about members, policy and closing by version"
    )]
    VersionMissing,
    /// The installation orders such facts by `occurred_at`, and there is a `version`.
    #[error(
        "version is not used here: this installation orders facts about members, policy and closing by occurred_at"
    )]
    VersionUnused,
    /// No `occurred_at`.
    #[error("occurred_at is missing")]
    OccurredAtMissing,
    /// `occurred_at` is more than a minute ahead of the clock.
    #[error("occurred_at is more than 60 s ahead of the clock")]
    TooFarAhead,
    /// More than [`super::MAX_MENTIONS`] mentions.
    #[error("more than 200 mentions")]
    TooManyMentions,
    /// A skip the wrong way round or wider than [`super::MAX_SKIP_SEQS`].
    #[error("a skip must have from ≤ to and cover at most 65,536 seqs")]
    BadSkip,
    /// A record without a seq, or with more than allowed.
    #[error("a record must name 1 to 10,000 seqs")]
    BadSeqCount,
    /// More readers than members who count.
    #[error("read is above total")]
    ReadAboveTotal,
    /// A reader that acknowledges its own message.
    #[error("the reader is the sender")]
    OwnMessage,
}

/// The order of a fact about members, policy or closing, by the installation's one rule.
///
/// # Errors
/// [`FactError::VersionMissing`], [`FactError::VersionUnused`] or [`FactError::OccurredAtMissing`].
pub fn order_of(
    source: OrderSource,
    occurred_at: Option<TimeMs>,
    version: Option<Order>,
) -> Result<Order, FactError> {
    match (source, occurred_at, version) {
        (OrderSource::Version, _, Some(version)) => Ok(version),
        (OrderSource::Version, _, None) => Err(FactError::VersionMissing),
        (OrderSource::OccurredAt, _, Some(_)) => Err(FactError::VersionUnused),
        (OrderSource::OccurredAt, Some(at), None) => Ok(at.as_order()),
        (OrderSource::OccurredAt, None, None) => Err(FactError::OccurredAtMissing),
    }
}

#[cfg(test)]
mod tests {
    use super::{FactError, order_of};
    use crate::time::{Order, OrderSource, TimeMs};

    #[test]
    fn one_source_of_orders_per_installation() {
        let (at, version) = (TimeMs::new(100).unwrap(), Order::new(7).unwrap());
        for (source, occurred_at, given, wanted) in [
            (OrderSource::OccurredAt, Some(at), None, Ok(100)),
            (OrderSource::OccurredAt, None, None, Err(FactError::OccurredAtMissing)),
            (OrderSource::OccurredAt, Some(at), Some(version), Err(FactError::VersionUnused)),
            (OrderSource::OccurredAt, None, Some(version), Err(FactError::VersionUnused)),
            (OrderSource::Version, None, Some(version), Ok(7)),
            (OrderSource::Version, Some(at), Some(version), Ok(7)),
            (OrderSource::Version, Some(at), None, Err(FactError::VersionMissing)),
        ] {
            assert_eq!(order_of(source, occurred_at, given).map(Order::get), wanted, "{source:?}");
        }
    }
}
