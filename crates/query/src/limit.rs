use readmark_http::Problem;

/// Names or entries in one answer, unless asked otherwise, and at most.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// How many are asked for.
pub(crate) fn limit(asked: Option<usize>) -> Result<usize, Problem> {
    let limit = asked.unwrap_or(DEFAULT_LIMIT);
    if (1..=MAX_LIMIT).contains(&limit) {
        Ok(limit)
    } else {
        Err(Problem::malformed_field("limit", format!("limit must be from 1 to {MAX_LIMIT}")))
    }
}
