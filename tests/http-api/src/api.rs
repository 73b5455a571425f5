use crate::{AwayHot, AwayStore, NOW_MS, ScriptedLog, Seed, TokioClock, uid};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use prometheus::Registry;
use readmark_domain::id::Endpoint;
use readmark_domain::time::TimeMs;
use readmark_gateway::{Gateway, GatewaySettings};
use readmark_hot::UserChange;
use readmark_hot::memory::MemoryHot;
use readmark_http::auth::{Claims, Scope, Verifier, sign};
use readmark_http::{AppParts, HttpMetrics, HttpSettings, OperationParts, app};
use readmark_query::{Query, QuerySettings};
use readmark_runtime::clock::Clock;
use readmark_runtime::ports::{Ports, Rules};
use readmark_store::ReceiptStore;
use readmark_store::memory::MemoryStore;
use readmark_sync::{Live, LiveSettings, apply_until_counted, whole_change};
use serde_json::Value;
use std::sync::Arc;
use tower::ServiceExt;

const SECRET: &[u8] = b"a secret of the tests, 32 bytes and more";

/// Whose token a request carries.
#[derive(Debug, Clone, Copy)]
pub enum Token {
    User(u64),
    Service,
    Admin,
    None,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The word that names the problem; the body must be one, and whole.
    pub fn problem(&self) -> String {
        let body = self.json();
        assert_eq!(self.headers["content-type"], "application/problem+json", "{}", self.text);
        assert_eq!(body["status"], self.status.as_u16(), "{}", self.text);
        assert!(body["title"].is_string() && body["detail"].is_string(), "{}", self.text);
        let retry = matches!(self.status.as_u16(), 429 | 503);
        assert_eq!(self.headers.contains_key("retry-after"), retry, "Retry-After: {}", self.text);
        body["type"].as_str().unwrap().strip_prefix("urn:readmark:problem:").unwrap().to_owned()
    }
}

/// The whole application on parts that do as they are told.
pub struct Api {
    pub store: Arc<AwayStore>,
    pub hot: Arc<AwayHot>,
    pub live: Arc<Live>,
    pub registry: Registry,
    pub log: Arc<ScriptedLog>,
    pub clock: Arc<TokioClock>,
    pub seed: Seed,
    router: Router,
}

impl Default for Api {
    fn default() -> Self {
        Self::new(Rules::default(), HttpSettings::default(), QuerySettings::default())
    }
}

impl Api {
    pub fn new(rules: Rules, http: HttpSettings, query: QuerySettings) -> Self {
        Self::with_live(rules, http, query, &LiveSettings::default())
    }

    pub fn with_live(
        rules: Rules,
        http: HttpSettings,
        query: QuerySettings,
        live_settings: &LiveSettings,
    ) -> Self {
        let clock = Arc::new(TokioClock::starting_at(NOW_MS));
        let (for_store, for_hot) = (clock.clone(), clock.clone());
        let memory: Arc<dyn ReceiptStore> = Arc::new(MemoryStore::new(Arc::new(move || for_store.now())));
        let store = Arc::new(AwayStore::new(memory.clone()));
        let memory_hot = MemoryHot::with_random_epochs(Arc::new(move || for_hot.now()));
        let hot = Arc::new(AwayHot::new(Arc::new(memory_hot)));
        let log = Arc::new(ScriptedLog::default());
        let ports = Ports { log: log.clone(), store: store.clone(), clock: clock.clone() };
        let registry = Registry::new();
        let live = Live::new(&ports, hot.clone(), live_settings, &registry).unwrap();
        let gateway = Gateway::new(ports.clone(), rules.clone(), &GatewaySettings::default());
        let query = Query::new(ports, live.clone(), rules, query);
        let parts = AppParts {
            verifier: Arc::new(Verifier::new(Some(SECRET), None).unwrap()),
            clock: clock.clone(),
            settings: http,
            metrics: HttpMetrics::new(&registry).unwrap(),
        };
        let openapi = readmark_http::openapi([
            readmark_gateway::openapi(),
            readmark_gateway::live::openapi(),
            readmark_query::openapi(),
        ]);
        let operation = OperationParts { checks: Vec::new(), registry: registry.clone(), openapi };
        let calls = readmark_gateway::routes(gateway).merge(readmark_query::routes(query));
        let router = app(&parts, calls, Some(operation)).unwrap();
        Self { store, hot, live, registry, log, clock, seed: Seed(memory), router }
    }

    /// The user's hot state, if it has one, is told all that the store knows by now; so it is what a notifier makes it.
    pub async fn tell(&self, who: u64) {
        let store = &*self.seed.0;
        let known = store.user_conversations(uid(who), None, usize::MAX).await.unwrap();
        let mut changes = Vec::new();
        for conversation_id in known.into_iter().map(|entry| entry.conversation_id) {
            let change = Arc::new(whole_change(store, uid(who), &conversation_id).await.unwrap());
            changes.push(UserChange { uid: uid(who), conversation_id, change });
        }
        for told in apply_until_counted(&*self.hot.inner(), store, &changes).await {
            told.unwrap();
        }
    }

    pub fn router(&self) -> Router {
        self.router.clone()
    }

    pub fn bearer(token: Token) -> Option<String> {
        let (who, scope, endpoint) = match token {
            Token::User(who) => (who, Scope::User, Some(Endpoint::new("phone").unwrap())),
            Token::Service => (0, Scope::Service, None),
            Token::Admin => (0, Scope::Admin, None),
            Token::None => return None,
        };
        let claims = Claims::lasting(uid(who), scope, endpoint, TimeMs::saturating(NOW_MS), 3_600);
        Some(format!("Bearer {}", sign(SECRET, &claims).unwrap()))
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, text }
    }

    pub async fn call(&self, token: Token, method: Method, path: &str, body: impl Into<Body>) -> Answer {
        let mut request =
            Request::builder().method(method).uri(path).header("content-type", "application/json");
        if let Some(bearer) = Self::bearer(token) {
            request = request.header("authorization", bearer);
        }
        self.send(request.body(body.into()).unwrap()).await
    }

    pub async fn get(&self, token: Token, path: &str) -> Answer {
        self.call(token, Method::GET, path, Body::empty()).await
    }

    pub async fn post(&self, token: Token, path: &str, body: &Value) -> Answer {
        self.call(token, Method::POST, path, body.to_string()).await
    }

    pub async fn put(&self, token: Token, path: &str, body: &Value) -> Answer {
        self.call(token, Method::PUT, path, body.to_string()).await
    }
}
