super::text::text_id!(
    /// A conversation (a group, a direct chat, a thread).
    ConversationId, "conversation_id"
);
