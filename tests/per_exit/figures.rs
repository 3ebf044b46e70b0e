//! What a client costs before its first socket: `cargo test --release --all-features --test per_exit figures -- --ignored
//! --nocapture`.

use crate::clients::{KINDS, trust};
use std::hint::black_box;
use tower_egress::Exit;

#[test]
#[ignore = "prints figures and asserts nothing"]
#[expect(clippy::disallowed_methods, reason = "it times")]
fn what_a_client_costs() {
    const MANY: usize = 100;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let authority = rcgen::generate_simple_self_signed([String::from("shop.test")]).unwrap();
    let (tls, exit) = (trust(&authority.cert.pem()), Exit::parse("http://user:pw@127.0.0.1:9").unwrap());
    for kind in KINDS {
        let mut kept = Vec::with_capacity(MANY);
        let begun = std::time::Instant::now();
        let cost = allocation_counter::measure(|| {
            kept.extend((0..MANY).map(|_| black_box(kind.client(exit.route(), &tls).unwrap())));
        });
        let each = begun.elapsed() / u32::try_from(MANY).unwrap();
        println!("{kind:?}: {} B, {each:?}", cost.bytes_current / MANY as i64);
    }
    // With the platform's roots, which each client of reqwest reads for itself.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (mut kept, begun) = (Vec::with_capacity(MANY), std::time::Instant::now());
    let cost = allocation_counter::measure(|| {
        kept.extend((0..MANY).map(|_| black_box(reqwest::Client::builder().build())));
    });
    let each = begun.elapsed() / u32::try_from(MANY).unwrap();
    let built = kept.iter().filter(|client| client.is_ok()).count();
    println!(
        "reqwest, platform's roots ({built} of {MANY} built): {} B, {each:?}",
        cost.bytes_current / MANY as i64
    );
}
