//! A crash every so often, while something else goes on.

use crate::server::Server;
use std::future::Future;
use std::time::Duration;

/// Kills the server with SIGKILL after each pause and starts it again at once, until `work` is done. Returns
/// how often; the server is running when this returns.
pub async fn while_killing(
    server: &Server,
    mut pause: impl FnMut() -> Duration,
    work: impl Future<Output = ()>,
) -> usize {
    tokio::pin!(work);
    let mut kills = 0;
    loop {
        tokio::select! {
            () = &mut work => return kills,
            () = tokio::time::sleep(pause()) => {}
        }
        server.kill();
        kills += 1;
        let restart = server.restart();
        tokio::pin!(restart);
        let mut work_is_done = false;
        // The restart must end before anything else: a server that is half started can't be handed back.
        loop {
            tokio::select! {
                () = &mut restart => break,
                () = &mut work, if !work_is_done => work_is_done = true,
            }
        }
        if work_is_done {
            return kills;
        }
    }
}
