//! A process that serves: its parts, its roles, its addresses, from the start until it is asked to stop.

mod instance;
mod live;
mod servers;
mod socket;

use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::parts::Parts;
use crate::role_name::RoleSet;
use crate::roles::{self, Ended, RunningRoles};
use crate::stop::{StopSignals, cancel_when_asked};
use live::LiveParts;
use prometheus::Registry;
use readmark_hot::HotState;
use readmark_runtime::lag::watch_lag;
use readmark_runtime::metrics::SharedMetrics;
use readmark_runtime::telemetry;
use readmark_sync::TimedHot;
use servers::{Listeners, Servers};
use socket::Socket;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

/// How long roles may take to flush and store their positions after the signal to stop; what is cut off is
/// repeated at the next start.
const ROLES_DRAIN_LIMIT: Duration = Duration::from_secs(10);

/// How long threads may take in the end that wait for servers or for a disk. What they were asked for nobody waits for
/// any more, and a process that stays without serving is worse than one that is killed, which is always safe.
const THREADS_LIMIT: Duration = Duration::from_secs(2);

/// Runs until a signal asks to stop, or a role can't go on.
pub(crate) fn run(config: &Config, chosen: &RoleSet, with_demo: bool) -> Result<Exit, Failure> {
    let runtime = crate::command::runtime()?;
    // Before all else: opening the parts may take long, and to be stopped then is no failure.
    let mut signals = {
        let _within = runtime.enter();
        StopSignals::hear().map_err(Failure::failed)?
    };
    telemetry::start(&config.telemetry.filter)
        .map_err(|error| Failure::usage(format!("telemetry.filter: {error}")))?;
    let opened = runtime.block_on(async {
        tokio::select! {
            opened = Opened::open(config, chosen) => opened.map(Some),
            () = signals.asked() => Ok(None),
        }
    });
    let ended = match opened {
        Ok(Some(opened)) => runtime.block_on(until_stopped(config, chosen, with_demo, opened, signals)),
        Ok(None) => {
            tracing::info!("readmark has stopped: it was asked to while it started");
            Ok(Exit::Done)
        }
        Err(failure) => Err(failure),
    };
    runtime.shutdown_timeout(THREADS_LIMIT);
    ended
}

/// What a process holds before it does anything.
struct Opened {
    listeners: Listeners,
    parts: Parts,
    hot: Option<Arc<dyn HotState>>,
}

impl Opened {
    async fn open(config: &Config, chosen: &RoleSet) -> Result<Self, Failure> {
        let listeners = Listeners::bind(config).await?;
        let parts = Parts::open(config, Some(instance::default_id(listeners.main_address()?))).await?;
        let hot = match chosen.needs_hot() {
            true => Some(parts.hot(config).await?),
            false => None,
        };
        Ok(Self { listeners, parts, hot })
    }
}

async fn until_stopped(
    config: &Config,
    chosen: &RoleSet,
    with_demo: bool,
    opened: Opened,
    signals: StopSignals,
) -> Result<Exit, Failure> {
    let Opened { listeners, parts, hot } = opened;
    let ports = parts.ports();
    let registry = Registry::new();
    let shared = SharedMetrics::register(&registry).map_err(Failure::failed)?;
    let (stop_serving, stop_roles) = (CancellationToken::new(), CancellationToken::new());
    let hot = hot.map(|hot| timed(hot, &registry)).transpose()?;
    let mut running =
        roles::start(chosen, &ports, hot.as_ref(), &config.rules(), &registry, &shared, &stop_roles)
            .map_err(Failure::failed)?;
    let live = match &hot {
        Some(hot) => Some(LiveParts::start(config, chosen, &parts, hot.clone(), &registry, &stop_serving)?),
        None => None,
    };
    let mut servers = Servers::new(config, chosen, &parts, live.as_ref(), &registry, &running)?;
    if with_demo {
        servers.add_demo(ports.clock.clone());
    }
    listeners.announce()?;
    let socket = match &parts.data_dir {
        Some(data_dir) => {
            let address = listeners.main_address()?;
            Some(Socket::serve(data_dir, address, &ports, &config.rules(), &stop_roles)?)
        }
        None => None,
    };

    tokio::spawn(cancel_when_asked(signals, stop_serving.clone()));
    let consumed = running.consumed.clone();
    tokio::spawn(watch_lag(ports, config.rules(), consumed, shared, stop_roles.clone()));
    tokio::spawn(parts.keep_house(config, stop_roles.clone()));

    let serving = servers.serve(listeners, &config.http, &stop_serving);
    tokio::pin!(serving);
    let early = tokio::select! {
        () = &mut serving => None,
        // With no consuming role there is none that could end.
        Some(ended) = running.tasks.join_next() => Some(ended),
    };
    let mut failure = None;
    if let Some(ended) = early {
        failure = failure_of(ended);
        if let Some(failure) = &failure {
            // At once: to end in good order takes its time, and what is asked meanwhile is refused.
            tracing::error!("{failure}; the process ends");
        }
        stop_serving.cancel();
        (&mut serving).await;
    }
    if let Some(live) = live {
        live.closed(Duration::from_millis(config.http.drain_ms)).await;
    }
    stop_roles.cancel();
    let ended = drain(running, failure).await;
    if let Some(socket) = socket {
        socket.ended().await;
    }
    parts.close().await?;
    ended.map(|()| {
        tracing::info!("readmark has stopped");
        Exit::Done
    })
}

/// With its calls timed.
fn timed(hot: Arc<dyn HotState>, registry: &Registry) -> Result<Arc<dyn HotState>, Failure> {
    let timed = TimedHot::new(hot, registry).map_err(Failure::failed)?;
    Ok(Arc::new(timed))
}

type Joined = Result<Ended, JoinError>;

/// Waits for the roles to end; the first failure is the command's.
async fn drain(mut running: RunningRoles, mut failure: Option<Failure>) -> Result<(), Failure> {
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
