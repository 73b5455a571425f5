//! Ten thousand events of sixty users on three gateways, while sockets are cut and the hot state is lost: at rest every
//! device shows what follows from the facts (E1).
//!
//! `READMARK_SEED=n` says the same again.

use readmark_test_harness::{Options, Part, Server, Services, wait_for_answers};
use readmark_test_live::life::{Life, Size, at_rest, seed};
use readmark_test_live::{Redis, World};
use std::time::Instant;
use tokio::sync::Mutex;

/// One life at a time: two would only slow each other down.
static ALONE: Mutex<()> = Mutex::const_new(());

const SIZE: Size = Size { events: 10_000, conversations: 24, users: 60, second_devices: 20, clients: 10 };
/// Sockets are cut, and the hot state is lost, when so many hundredths of the facts are said.
const CUTS: [u64; 8] = [10, 20, 35, 45, 55, 65, 80, 90];
const LOSSES: [u64; 4] = [15, 30, 50, 70];
/// Keys of Redis that are lost at once.
const KEYS: usize = 60;
/// One device of so many is cut at a time.
const CUT_ONE_OF: usize = 4;
/// The set of services with the Redis that loses what it has, of this test alone.
const SERVICES: u16 = 12;

const THREE_GATEWAYS: [&str; 5] =
    ["gateway,query", "gateway,query", "gateway,query", "catalog,notifier", "aggregator,watermark"];

async fn live(server: &Server, lose: impl AsyncFn(usize)) {
    let world = World::of(server).await;
    let life = Life::new(&world, seed(), SIZE);
    let began = Instant::now();
    let cuts = async {
        let mut random = life.random(SIZE.conversations);
        for at in CUTS {
            life.has_said(at).await;
            life.cut_some(&mut random, CUT_ONE_OF).await;
        }
    };
    let losses = async {
        for (number, at) in LOSSES.into_iter().enumerate() {
            life.has_said(at).await;
            lose(number).await;
        }
    };
    tokio::join!(life.run(), cuts, losses);
    let said = began.elapsed();
    let rest = at_rest(&life).await;
    let oracle = world.oracle().clone();
    wait_for_answers(server, &oracle).await;
    let devices = || life.phones.iter().map(|phone| phone.device());
    let (entries, snapshots): (u64, u64) =
        (devices().map(|device| device.entries).sum(), devices().map(|device| device.snapshots).sum());
    let tallies: usize = devices().map(|device| device.tallies.len()).sum();
    println!(
        "{} facts in {said:.1?}, at rest after {rest:.1?}; {} devices took {entries} entries and {snapshots} snapshots \
         and show {tallies} tallies",
        life.said(),
        life.phones.len()
    );
    assert!(entries > SIZE.events && tallies > 0, "devices were told");
    // Of losses that follow each other quickly a device may notice the last one only.
    assert!(snapshots >= 2 * life.phones.len() as u64, "devices begin anew after a loss");
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_show_the_truth_on_embedded_parts() {
    let _alone = ALONE.lock().await;
    let server = Server::fresh().await;
    // The hot state is the process's own.
    live(&server, async |_| {
        server.kill();
        server.restart().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_show_the_truth_on_full_parts() {
    let _alone = ALONE.lock().await;
    let own = tokio::task::spawn_blocking(|| {
        let services = Services::own(SERVICES);
        let url = services.address(Part::Redis).to_owned();
        (services, url)
    });
    let (_services, url) = own.await.unwrap();
    let redis = Redis::at(&url);
    let options = Options::full().processes(&THREE_GATEWAYS).env("READMARK_HOT__URL", &url);
    let server = Server::start(options).await;
    live(&server, async |number| match number {
        0 => redis.cuts_and_forgets_scripts().await,
        1 => redis.loses_keys(KEYS).await,
        2 => redis.loses_all().await,
        _ => {
            let gateway = &server.processes()[0];
            gateway.terminate().await;
            redis.loses_all().await;
            gateway.restart().await;
        }
    })
    .await;
}
