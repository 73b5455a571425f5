//! `readmark up`: every role in one process, on embedded parts.

use super::runtime;
use crate::admin;
use crate::cli::Up;
use crate::config::{Config, load};
use crate::exit::{Exit, Failure};
use crate::parts::Parts;
use crate::roles::{self, RunningRoles};
use crate::stop;
use axum::Router;
use prometheus::Registry;
use readmark_gateway::Gateway;
use readmark_http::{AppParts, Check, HttpMetrics, OperationParts, app, openapi, serve};
use readmark_query::Query;
use readmark_runtime::lag::watch_lag;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::ports::Ports;
use readmark_runtime::telemetry;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How long roles may take to flush and store their positions after the signal to stop; what is cut off is
/// repeated at the next start.
const ROLES_DRAIN_LIMIT: Duration = Duration::from_secs(10);

/// Runs until a signal asks to stop, or a role can't go on.
pub(crate) fn run(up: &Up) -> Result<Exit, Failure> {
    let flags = [
        up.listen.map(|address| ("listen", address.to_string())),
        up.admin_listen.map(|address| ("admin_listen", address.to_string())),
    ];
    let flags: Vec<(&str, String)> = flags.into_iter().flatten().collect();
    let config = load(&up.source, &flags)?;
    telemetry::start(&config.telemetry.filter)
        .map_err(|error| Failure::usage(format!("telemetry.filter: {error}")))?;
    runtime()?.block_on(up_until_stopped(&config))
}

/// What serves HTTP: one address, or two when the operator's calls have their own.
struct Servers {
    listeners: Vec<(TcpListener, Router)>,
}

async fn up_until_stopped(config: &Config) -> Result<Exit, Failure> {
    let parts = Parts::open(config).await?;
    let ports = parts.ports();
    let registry = Registry::new();
    let shared = SharedMetrics::register(&registry).map_err(Failure::failed)?;
    let (stop_serving, stop_roles) = (CancellationToken::new(), CancellationToken::new());
    let mut running =
        roles::start(&ports, &config.rules(), &registry, &shared, &stop_roles).map_err(Failure::failed)?;
    let servers = servers(config, &parts, &ports, &registry, &running).await?;
    let socket = admin::listen(&parts.data_dir.admin_socket()).map_err(Failure::failed)?;
    announce(&servers, &parts.data_dir.listen_file())?;

    tokio::spawn(stop::cancel_when_asked(stop_serving.clone()));
    tokio::spawn(watch_lag(
        ports.clone(),
        config.rules(),
        running.consumed.clone(),
        shared,
        stop_roles.clone(),
    ));
    tokio::spawn(parts.keep_house(config, stop_roles.clone()));
    let socket_router = admin::routes(ports.clone(), config.rules());
    let socket_served = tokio::spawn(admin::serve(socket, socket_router, stop_roles.clone()));

    let serving = serve_all(servers, config, &stop_serving);
    tokio::pin!(serving);
    let early = tokio::select! {
        _ = &mut serving => None,
        ended = running.tasks.join_next() => ended,
    };
    if early.is_some() {
        stop_serving.cancel();
        (&mut serving).await;
    }
    stop_roles.cancel();
    let ended = drain(running, early).await;
    let _ = socket_served.await;
    let _ = std::fs::remove_file(parts.data_dir.listen_file());
    let _ = std::fs::remove_file(parts.data_dir.admin_socket());
    parts.close().await?;
    ended.map(|()| {
        tracing::info!("readmark has stopped");
        Exit::Done
    })
}

async fn servers(
    config: &Config,
    parts: &Parts,
    ports: &Ports,
    registry: &Registry,
    running: &RunningRoles,
) -> Result<Servers, Failure> {
    let own_secret = match config.auth.secret_file {
        Some(_) => None,
        None => Some(parts.secret()?),
    };
    let app_parts = AppParts {
        verifier: Arc::new(config.auth.verifier(own_secret).map_err(Failure::usage)?),
        clock: ports.clock.clone(),
        settings: config.http.clone(),
        metrics: HttpMetrics::new(registry).map_err(Failure::failed)?,
    };
    let gateway = Gateway::new(ports.clone(), config.rules(), &config.gateway);
    let query = Query::new(ports.clone(), config.rules(), config.query_settings());
    let calls = readmark_gateway::routes(gateway).merge(readmark_query::routes(query));
    let operation = OperationParts {
        checks: checks(ports, running),
        registry: registry.clone(),
        openapi: openapi([readmark_gateway::openapi(), readmark_query::openapi()]),
    };
    let listener = bind(config.listen).await?;
    let listeners = match config.admin_listen {
        None => vec![(listener, app(&app_parts, calls, Some(operation)).map_err(Failure::usage)?)],
        Some(address) => vec![
            (listener, app(&app_parts, calls, None).map_err(Failure::usage)?),
            (bind(address).await?, app(&app_parts, Router::new(), Some(operation)).map_err(Failure::usage)?),
        ],
    };
    Ok(Servers { listeners })
}

async fn bind(address: std::net::SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|error| Failure::failed(format!("can't listen on {address}: {error}")))
}

fn checks(ports: &Ports, running: &RunningRoles) -> Vec<Check> {
    let mut checks = vec![Check::log(ports.log.clone()), Check::store(ports.store.clone())];
    checks.extend(running.checks.iter().cloned());
    checks
}

/// Says where it serves: to people on stderr, to programs in a file of the data directory.
fn announce(servers: &Servers, listen_file: &Path) -> Result<(), Failure> {
    let address = |at: usize| servers.listeners.get(at).and_then(|(listener, _)| listener.local_addr().ok());
    let Some(main) = address(0) else { return Err(Failure::failed("the address is not known")) };
    let unfinished = listen_file.with_extension("new");
    std::fs::write(&unfinished, format!("{main}\n"))
        .and_then(|()| std::fs::rename(&unfinished, listen_file))
        .map_err(|error| Failure::failed(format!("{}: {error}", listen_file.display())))?;
    tracing::info!(address = %main, "readmark serves on http://{main}");
    if let Some(operation) = address(1) {
        tracing::info!(address = %operation, "operator's calls on http://{operation}");
    }
    Ok(())
}

/// Serves until `stop`; answers what is in flight, on all addresses.
async fn serve_all(servers: Servers, config: &Config, stop: &CancellationToken) {
    let each = servers.listeners.into_iter().map(|(listener, router)| {
        let stop = stop.clone();
        async move { serve(listener, router, &config.http, async move { stop.cancelled().await }).await }
    });
    futures::future::join_all(each).await;
}

type Joined = Result<roles::Ended, tokio::task::JoinError>;

/// Waits for the roles to end; the first failure is the command's.
async fn drain(mut running: RunningRoles, early: Option<Joined>) -> Result<(), Failure> {
    let mut failure = early.and_then(failure_of);
    let rest = async {
        while let Some(joined) = running.tasks.join_next().await {
            failure = failure.take().or_else(|| failure_of(joined));
        }
    };
    if tokio::time::timeout(ROLES_DRAIN_LIMIT, rest).await.is_err() {
        tracing::warn!("roles were cut off; what they had begun is repeated at the next start");
    }
    failure.map_or(Ok(()), Err)
}

fn failure_of(joined: Joined) -> Option<Failure> {
    match joined {
        Ok((_, Ok(()))) => None,
        Ok((role, Err(error))) => Some(Failure::failed(format!("the {role} can't go on: {error}"))),
        Err(error) => Some(Failure::failed(format!("a role broke off: {error}"))),
    }
}
