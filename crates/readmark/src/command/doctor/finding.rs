use serde::Serialize;

/// How a check went; the later, the worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// As it should be.
    Ok,
    /// Could not be looked at, because of what another check has found.
    NotChecked,
    /// readmark works with it, and somebody should look at it.
    Warning,
    /// readmark can't work with it.
    Failed,
}

impl Outcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotChecked => "not checked",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// What a check has found.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub check: &'static str,
    pub outcome: Outcome,
    /// In words.
    pub found: String,
    /// What to do about it, one thing after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to_do: Vec<String>,
}

impl Finding {
    pub fn ok(check: &'static str, found: impl std::fmt::Display) -> Self {
        Self { check, outcome: Outcome::Ok, found: found.to_string(), to_do: Vec::new() }
    }

    pub fn not_checked(check: &'static str, why: impl std::fmt::Display) -> Self {
        Self { outcome: Outcome::NotChecked, ..Self::ok(check, why) }
    }

    pub fn warning(check: &'static str, found: impl std::fmt::Display, to_do: impl Into<String>) -> Self {
        Self { outcome: Outcome::Warning, to_do: vec![to_do.into()], ..Self::ok(check, found) }
    }

    pub fn failed(check: &'static str, found: impl std::fmt::Display, to_do: impl Into<String>) -> Self {
        Self { outcome: Outcome::Failed, ..Self::warning(check, found, to_do) }
    }

    /// Lines for a terminal.
    pub fn lines(&self) -> String {
        const INDENT: usize = 13;
        let further = format!("\n{:INDENT$}{:16}", "", "");
        let mut lines = format!(
            "{:INDENT$}{:16}{}\n",
            self.outcome.as_str(),
            self.check,
            self.found.replace('\n', &further)
        );
        for step in &self.to_do {
            lines += &format!("{:INDENT$}to do: {}\n", "", step.replace('\n', &format!("\n{:INDENT$}", "")));
        }
        lines
    }
}
