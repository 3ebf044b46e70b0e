//! A large pool costs what is in use, and not what it has.

use crate::world::{Proxy, get, text, within};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower_egress::ExitClient;

const EXITS: u32 = 10_000;
const AT_ONCE: usize = 64;
const MAX_IDLE: usize = 256;

#[test]
fn te_093_ten_thousand_sessions_leave_nothing_behind() {
    // A thread of its own: what the proxy allocates is not the client's.
    let server = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (open, mut opened) = watch::channel(0_usize);
    let (open, most) = (Arc::new(open), Arc::new(AtomicUsize::new(0)));
    let peak = Arc::clone(&most);
    let proxy = server.block_on(Proxy::start(move |peer| {
        let (open, peak) = (Arc::clone(&open), Arc::clone(&peak));
        async move {
            open.send_modify(|open| *open += 1);
            peak.fetch_max(*open.borrow(), Ordering::Relaxed);
            peer.serve().await;
            open.send_modify(|open| *open -= 1);
        }
    }));
    let callers = Builder::new_current_thread().enable_all().build().unwrap();
    let mut kept = None;
    let memory = allocation_counter::measure(|| {
        callers.block_on(async {
            let client = ExitClient::builder().max_idle(MAX_IDLE).idle_timeout(Duration::from_secs(2));
            let (client, next) = (client.build().unwrap(), Arc::new(AtomicU32::new(0)));
            let proxy = Arc::new(proxy);
            let caller = |_| {
                let (client, next, proxy) = (client.clone(), Arc::clone(&next), Arc::clone(&proxy));
                async move {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= EXITS {
                            return;
                        }
                        let session = proxy.route_as(&format!("user-{number}"), "pw");
                        let answer = get(&client, &session, "http://shop.example/").await.unwrap();
                        assert_eq!(text(answer).await, "ok");
                    }
                }
            };
            (0..AT_ONCE).map(caller).collect::<JoinSet<_>>().join_all().await;
            within(opened.wait_for(|open| *open <= MAX_IDLE)).await.unwrap();
            within(opened.wait_for(|open| *open == 0)).await.unwrap();
            kept = Some(client);
        });
    });
    let peak = most.load(Ordering::Relaxed);
    // Those that are being closed are a few more.
    assert!(peak <= 2 * MAX_IDLE, "{peak} connections were open at once");
    assert!(memory.bytes_max < 200 << 20, "{memory:?}");
    assert!(memory.bytes_current < 1 << 20, "of ten thousand exits nothing stays: {memory:?}");
    drop(kept);
}
