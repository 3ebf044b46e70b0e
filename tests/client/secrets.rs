//! No failure prints a login.

use crate::world::{PASSWORD, Pki, Proxy, USER, get, request, send};
use http::Method;
use http_body_util::BodyExt as _;
use std::error::Error;
use std::time::Duration;
use tower_egress::ExitClient;
use tower_egress::client::ClientError;

/// `user:password` as it stands in the header.
const BASIC: &str = "dGhlLXVzZXI6dGhlLXBhc3N3b3Jk";

fn assert_silent(error: &(dyn Error + 'static)) {
    let mut at = Some(error);
    while let Some(error) = at {
        for text in [format!("{error}"), format!("{error:?}"), format!("{error:#?}")] {
            for secret in [USER, PASSWORD, BASIC] {
                assert!(!text.contains(secret), "{text}");
            }
        }
        at = error.source();
    }
}

#[tokio::test]
async fn no_failure_prints_the_login() {
    let pki = Pki::new("shop.example");
    let client = pki.builder().establish_timeout(Duration::from_millis(200)).build().unwrap();
    let echo = format!("x-echo: {BASIC} {USER} {PASSWORD}");
    let mut errors: Vec<ClientError> = Vec::new();
    for answer in [
        format!("HTTP/1.1 407 {USER}\r\n{echo}\r\ncontent-length: 12\r\n\r\n{PASSWORD}"),
        format!("HTTP/1.1 200 OK\r\n{echo}\r\nx: {}\r\n\r\n", "y".repeat(20_000)),
        format!("nonsense {echo}\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\n{echo}\r\n\r\n{BASIC}"),
        format!("HTTP/1.1 200 OK\r\n{echo}\r\n"),
        String::new(),
    ] {
        let proxy = Proxy::answering(answer).await;
        errors.push(get(&client, &proxy.route(), "https://shop.example/").await.unwrap_err());
    }
    for answer in
        [format!("{BASIC}\r\n\r\n"), format!("HTTP/1.1 200 OK\r\n{echo}\r\ncontent-length: x\r\n\r\n")]
    {
        let proxy = Proxy::answering(answer).await;
        errors.push(get(&client, &proxy.route(), "http://shop.example/").await.unwrap_err());
    }
    let proxy = Proxy::start(|mut peer| async move {
        peer.answer("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n").await;
    })
    .await;
    let answer = get(&client, &proxy.route(), "http://shop.example/").await.unwrap();
    errors.push(answer.into_body().collect().await.unwrap_err());
    let route = proxy.route();
    drop(proxy);
    let bad = format!("ftp://{USER}:{PASSWORD}@shop.example/");
    errors.push(send(&client, request(Method::GET, Some(&route), &bad, "")).await.unwrap_err());

    for error in &errors {
        assert_silent(error);
    }
    for shown in [format!("{client:?}"), format!("{:?}", ExitClient::builder()), format!("{route:?}")] {
        assert!(!shown.contains(USER) && !shown.contains(PASSWORD), "{shown}");
    }
}
