use super::hands::{
    apply, entries, head, member, mentions, muted, picture, read, rebuilt, told, uid, uncounted,
};
use super::subject::Subject;
use readmark_domain::hot::{Change, News, User};
use std::sync::Arc;

super::cases!(many_callers_of_one_user, a_rebuild_among_many_callers);

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Changes of three conversations, for each as many callers as there are lists.
fn changes() -> Vec<Vec<(&'static str, Change)>> {
    let mut lists = vec![Vec::new(); 6];
    for (at, name) in NAMES.into_iter().enumerate() {
        for n in 1..=40 {
            lists[at].push((name, head(n)));
            lists[(at + 1) % 6].push((name, read(n / 2, "phone")));
            lists[(at + 2) % 6].push((name, uncounted(n + 20, n + 20)));
            lists[(at + 3) % 6].push((name, mentions(n, n)));
            lists[(at + 4) % 6].push((name, muted(n, n.is_multiple_of(2))));
            lists[(at + 5) % 6].push((name, head(n / 3)));
        }
    }
    lists
}

/// What it must come to, whatever the order.
fn wanted() -> Vec<(u64, u64)> {
    let mut user = User::new(readmark_domain::hot::Epoch::of_random(1));
    for (name, change) in changes().into_iter().flatten() {
        user.apply(&super::hands::id(name), &change);
    }
    for name in NAMES {
        user.apply(&super::hands::id(name), &member(0, 0));
    }
    user.picture(None).rows.iter().map(|row| (row.row.unread.get(), row.row.mentions.get())).collect()
}

async fn many_callers_of_one_user(s: Box<dyn Subject>) {
    let hot = s.hot();
    let token = rebuilt(&*hot, uid(1), &NAMES.map(|name| (name, member(0, 0)))).await;
    let mut running = tokio::task::JoinSet::new();
    for list in changes() {
        let hot = Arc::clone(&hot);
        running.spawn(async move {
            for (name, change) in list {
                apply(&*hot, uid(1), name, change).await;
            }
        });
    }
    running.join_all().await;
    let picture = picture(&*hot, uid(1)).await;
    let counts: Vec<_> =
        picture.rows.iter().map(|row| (row.row.unread.get(), row.row.mentions.get())).collect();
    assert_eq!(counts, wanted());
    let told = entries(&*hot, uid(1), &token).await;
    assert_eq!(told.len() as u64, picture.token.version.get());
    for (n, entry) in (1..).zip(&told) {
        assert_eq!(entry.version.get(), n);
    }
    let (News::ConversationRead { total_unread, .. } | News::UnreadChanged { total_unread, .. }) =
        told.last().expect("entries").news
    else {
        panic!("{told:?}")
    };
    assert_eq!(total_unread, picture.total);
}

async fn a_rebuild_among_many_callers(s: Box<dyn Subject>) {
    let hot = s.hot();
    let mut running = tokio::task::JoinSet::new();
    for list in changes() {
        let hot = Arc::clone(&hot);
        running.spawn(async move {
            // Told again once there is a state, as a rebuild reads it from the store.
            for (name, change) in list {
                loop {
                    let answer = hot.apply(&[told(uid(1), name, change.clone())]).await.remove(0);
                    if answer.expect("apply").is_some() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    rebuilt(&*hot, uid(1), &NAMES.map(|name| (name, member(0, 0)))).await;
    running.join_all().await;
    let picture = picture(&*hot, uid(1)).await;
    let counts: Vec<_> =
        picture.rows.iter().map(|row| (row.row.unread.get(), row.row.mentions.get())).collect();
    assert_eq!(counts, wanted());
}
