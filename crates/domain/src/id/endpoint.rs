super::text::text_id!(
    /// One device or client of a user.
    Endpoint, "endpoint"
);
