use futures::future::BoxFuture;
use std::sync::Arc;

type Fetch = dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync;

/// Where tokens come from. Asked before each connection, and again when one is over.
#[derive(Clone)]
pub struct Token(Arc<Fetch>);

impl Token {
    /// Always the same one.
    #[must_use]
    pub fn fixed(token: impl Into<String>) -> Self {
        let token: Arc<str> = token.into().into();
        Self::from_fn(move || {
            let token = token.to_string();
            Box::pin(async move { Ok(token) })
        })
    }

    /// Fetched anew each time; keep one yourself as long as it lasts.
    pub fn from_fn<F>(fetch: F) -> Self
    where
        F: Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync + 'static,
    {
        Self(Arc::new(fetch))
    }

    pub(crate) async fn get(&self) -> Result<String, String> {
        (self.0)().await
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}
