//! Rules left out, to see that the simulation notices: each breaks one rule of the design at the ports, with
//! the roles' code as it is.

/// A rule to be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// A message_read is told only when it names somebody new: what a crash cut off is never told.
    AnnounceOnlyNew,
    /// No acks for messages that come after a mark passed them.
    NoLateMessageRule,
    /// No recounts.
    NoRecount,
    /// Recounts reach up to the head, not to messages that are there before it is raised to them.
    RecountUpToHead,
    /// Receipts are dropped while the cached switch is off, not by the newest off.
    DropBySwitchInForce,
    /// Positions are stored when records are handed over, before the work is durable and announced.
    OffsetBeforeWork,
    /// The sender's own mark is raised after the head.
    OwnAfterHead,
    /// `claimed` is written after the messages were looked at.
    ClaimedAfterLook,
    /// A roster of up to a second is used for messages it was read before.
    RosterNotReadAgain,
    /// `receipted` is written before the expansion is in the log.
    ReceiptedBeforeExpansion,
    /// conversation_read is told only when it raises what was told before.
    TellOnlyRaisedMarks,
    /// The notifier's positions are stored when records are handed over, before anybody is told.
    NotifierOffsetBeforeTold,
    /// Who joins is told that, and not the whole conversation.
    JoinedNotToldWhole,
    /// Members of up to a second ago are told, though one has joined since.
    MembersNotReadAgain,
    /// A sender is told of its message as all are, and not that it is its own.
    OwnNotTold,
    /// Nobody is told that a conversation has become large.
    LargeNotAnnounced,
    /// What an answer asks to be counted is not counted.
    NumbersNotCounted,
    /// A state that is being rebuilt takes no facts meanwhile.
    RebuildTakesNoFacts,
    /// A state that was lost comes back under the same epoch.
    EpochKept,
    /// Records that retention took before the notifier had them are not missed.
    LostRecordsNotMissed,
}

impl Mutation {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::AnnounceOnlyNew,
        Self::NoLateMessageRule,
        Self::NoRecount,
        Self::RecountUpToHead,
        Self::DropBySwitchInForce,
        Self::OffsetBeforeWork,
        Self::OwnAfterHead,
        Self::ClaimedAfterLook,
        Self::RosterNotReadAgain,
        Self::ReceiptedBeforeExpansion,
        Self::TellOnlyRaisedMarks,
        Self::NotifierOffsetBeforeTold,
        Self::JoinedNotToldWhole,
        Self::MembersNotReadAgain,
        Self::OwnNotTold,
        Self::LargeNotAnnounced,
        Self::NumbersNotCounted,
        Self::RebuildTakesNoFacts,
        Self::EpochKept,
        Self::LostRecordsNotMissed,
    ];
}
