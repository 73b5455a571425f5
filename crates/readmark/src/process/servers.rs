//! What serves HTTP: one address, or two when the operator's calls have their own.

use super::live::LiveParts;
use crate::config::Config;
use crate::exit::Failure;
use crate::parts::{Parts, own_secret};
use crate::role_name::{RoleName, RoleSet};
use crate::roles::RunningRoles;
use axum::Router;
use prometheus::Registry;
use readmark_demo::DemoParts;
use readmark_http::auth::read_secret;
use readmark_http::{AppParts, Check, HttpMetrics, HttpSettings, OperationParts, app, openapi, serve};
use readmark_runtime::clock::Clock;
use readmark_runtime::ports::Ports;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The addresses, bound before anything is opened: a second start on the same address ends at once.
pub(super) struct Listeners {
    main: TcpListener,
    operation: Option<TcpListener>,
}

impl Listeners {
    pub async fn bind(config: &Config) -> Result<Self, Failure> {
        let operation = match config.admin_listen {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        Ok(Self { main: bind(config.listen).await?, operation })
    }

    pub fn main_address(&self) -> Result<SocketAddr, Failure> {
        self.main.local_addr().map_err(Failure::failed)
    }

    /// Says to people where it serves.
    pub fn announce(&self) -> Result<(), Failure> {
        let main = self.main_address()?;
        tracing::info!(address = %main, "readmark serves on http://{main}");
        if let Some(operation) = &self.operation {
            let operation = operation.local_addr().map_err(Failure::failed)?;
            tracing::info!(address = %operation, "operator's calls on http://{operation}");
        }
        Ok(())
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|error| Failure::failed(format!("can't listen on {address}: {error}")))
}

/// What answers on them.
pub(super) struct Servers {
    main: Router,
    operation: Option<Router>,
    /// Signs tokens; nothing where others do.
    secret: Option<Arc<[u8]>>,
}

impl Servers {
    pub fn new(
        config: &Config,
        chosen: &RoleSet,
        parts: &Parts,
        live: Option<&LiveParts>,
        registry: &Registry,
        running: &RunningRoles,
    ) -> Result<Self, Failure> {
        let ports = parts.ports();
        let has_calls = chosen.has(RoleName::Gateway) || chosen.has(RoleName::Query);
        let makes_secret = has_calls && config.auth.secret_file.is_none() && config.auth.jwks_file.is_none();
        // Where nothing is configured; in a directory of our own it is there for `readmark token` in any case.
        let own_secret = match makes_secret || (parts.data_dir.is_some() && config.auth.secret_file.is_none())
        {
            true => Some(own_secret(&config.data_dir)?),
            false => None,
        };
        let secret = match &config.auth.secret_file {
            Some(file) => Some(read_secret(file).map_err(Failure::usage)?),
            None => own_secret.clone(),
        };
        let secret = secret.map(Arc::from);
        let app_parts = AppParts {
            verifier: Arc::new(config.auth.verifier(own_secret).map_err(Failure::usage)?),
            clock: ports.clock.clone(),
            settings: config.http.clone(),
            metrics: HttpMetrics::new(registry).map_err(Failure::failed)?,
        };
        let mut calls = Router::new();
        let mut described = Vec::new();
        if let Some(live) = live {
            calls = live.calls();
            described = live.described();
        }
        let operation = OperationParts {
            checks: checks(&ports, live, running),
            registry: registry.clone(),
            openapi: openapi(described),
        };
        let with = |calls, operation| app(&app_parts, calls, operation).map_err(Failure::usage);
        match config.admin_listen {
            None => Ok(Self { main: with(calls, Some(operation))?, operation: None, secret }),
            Some(_) => {
                let (main, operation) = (with(calls, None)?, with(Router::new(), Some(operation))?);
                Ok(Self { main, operation: Some(operation), secret })
            }
        }
    }

    /// Adds the demo page, where tokens are signed with a secret.
    pub fn add_demo(&mut self, clock: Arc<dyn Clock>) {
        let Some(secret) = &self.secret else { return };
        let demo = DemoParts { app: self.main.clone(), secret: secret.clone(), clock };
        self.main = std::mem::take(&mut self.main).merge(readmark_demo::routes(demo));
    }

    /// Serves until `stop`; answers what is in flight, on all addresses.
    pub async fn serve(self, listeners: Listeners, settings: &HttpSettings, stop: &CancellationToken) {
        let on = |listener, router| {
            let stop = stop.clone();
            serve(listener, router, settings, async move { stop.cancelled().await })
        };
        match (listeners.operation, self.operation) {
            (Some(listener), Some(router)) => {
                futures::join!(on(listeners.main, self.main), on(listener, router));
            }
            _ => {
                on(listeners.main, self.main).await;
            }
        }
    }
}

fn checks(ports: &Ports, live: Option<&LiveParts>, running: &RunningRoles) -> Vec<Check> {
    let mut checks = vec![Check::log(ports.log.clone()), Check::store(ports.store.clone())];
    checks.extend(live.map(LiveParts::check));
    checks.extend(running.checks.iter().cloned());
    checks
}
