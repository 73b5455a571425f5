//! A crash every so often, while something else goes on.

use crate::server::Server;
use std::future::Future;
use std::time::Duration;

/// Kills the server with SIGKILL after each pause and starts it again at once, until `work` is done. Returns
/// how often; the server is running when this returns.
///
/// After a life without an answer the next one lasts until there is one: where the machine needs longer than the
/// pause to take up work, nothing would ever be done.
pub async fn while_killing(
    server: &Server,
    mut pause: impl FnMut() -> Duration,
    work: impl Future<Output = ()>,
) -> usize {
    tokio::pin!(work);
    let mut kills = 0;
    let mut answered = server.answered();
    let mut was_idle = false;
    loop {
        let before = *answered.borrow();
        let life = async {
            tokio::time::sleep(pause()).await;
            if was_idle {
                answered.wait_for(|answered| *answered > before).await.expect("the server counts");
            }
        };
        tokio::select! {
            () = &mut work => return kills,
            () = life => {}
        }
        was_idle = *answered.borrow() == before;
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
