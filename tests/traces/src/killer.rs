//! A crash every so often, while something else goes on.

use readmark_test_harness::Server;
use std::future::Future;
use std::time::Duration;

/// Kills the server with SIGKILL every `every` and starts it again at once, until `work` is done. Returns how
/// often; the server is running when this returns.
pub async fn play_while_killing(server: &Server, every: Duration, work: impl Future<Output = ()>) -> usize {
    tokio::pin!(work);
    let mut kills = 0;
    loop {
        tokio::select! {
            () = &mut work => return kills,
            () = tokio::time::sleep(every) => {}
        }
        server.kill();
        kills += 1;
        // The restart must end before anything else: a server that is half started can't be handed back.
        let restart = server.restart();
        tokio::pin!(restart);
        let mut done = false;
        loop {
            tokio::select! {
                () = &mut restart => break,
                () = &mut work, if !done => done = true,
            }
        }
        if done {
            return kills;
        }
    }
}
