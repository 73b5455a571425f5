/// Bounds of what reading devices may cost the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSettings {
    /// Users whose hot state is rebuilt at once; each reads the store 16 times at once.
    pub rebuilds_at_once: usize,
    /// Rebuilds begun a second, for long.
    pub rebuilds_per_s: u32,
    /// Pictures computed from the store at once while the hot state is away; each reads it 16 times at once.
    pub derived_at_once: usize,
}

impl Default for LiveSettings {
    /// Half of the requests that a process may have on their way to a store by default.
    fn default() -> Self {
        Self { rebuilds_at_once: 8, rebuilds_per_s: 200, derived_at_once: 8 }
    }
}
