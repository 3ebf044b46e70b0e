//! What proxies say beside a status, byte by byte: phrases, codes, heads that strict readers refuse.

use crate::stack::Fleet;
use crate::world::{Pki, Proxy, any_client, get};
use http::Method;
use tower_egress::exit::{Exit, Vendor};
use tower_egress::outcome::{AuthReason, Failure, Outcome, Phase, ReasonPhrase};

const URI: &str = "https://shop.example/";

/// The refusal of a CONNECT that is answered with these bytes, and the outcome if the proxy is that vendor's.
async fn refused(vendor: Vendor, answer: &'static str) -> (Failure, Outcome) {
    let proxy = Proxy::answering(answer).await;
    let Err(error) = get(&any_client(), &proxy.route(), URI).await else { panic!("{answer:?} is no tunnel") };
    let failure = error.into_failure();
    let exit = Exit::parse(&format!("http://u:p@{}", proxy.address())).unwrap().vendor(vendor);
    let asking = tower_egress::LeaseRequest::per_request().attempts(std::num::NonZeroU32::MIN);
    let fleet = Fleet::through(&exit, any_client()).asking(asking);
    let error = fleet.send(Method::GET, URI, "").await.unwrap_err();
    (failure, error.outcome().unwrap())
}

fn phrase(failure: &Failure) -> Option<&[u8]> {
    failure.refusal().unwrap().extensions().get().map(ReasonPhrase::as_bytes)
}

#[tokio::test]
async fn a_phrase_that_is_not_the_statuss_own_comes_up_and_is_read() {
    let auth = |reason| Outcome::AuthError { reason };
    for (vendor, answer, said, outcome) in [
        (
            Vendor::DataImpulse,
            "HTTP/1.1 502 NO_HOST_CONNECTION\r\ncontent-length: 0\r\n\r\n",
            Some("NO_HOST_CONNECTION"),
            Outcome::TargetUnreachable,
        ),
        (
            Vendor::BrightData,
            "HTTP/1.1 407 Request parameters 'country state' do not match zone permissions\r\n\
             proxy-authenticate: Basic realm=\"x\"\r\n\r\n",
            Some("Request parameters 'country state' do not match zone permissions"),
            auth(AuthReason::Parameters),
        ),
        (
            Vendor::BrightData,
            "HTTP/1.1 407 Invalid Auth\r\n\r\n",
            Some("Invalid Auth"),
            auth(AuthReason::Rejected),
        ),
        // The status's own phrase says nothing.
        (Vendor::Tinyproxy, "HTTP/1.0 500 Internal Server Error\r\n\r\n", None, Outcome::TargetUnreachable),
        (
            Vendor::Tinyproxy,
            "HTTP/1.0 500 Unable to connect\r\n\r\n",
            Some("Unable to connect"),
            Outcome::TargetUnreachable,
        ),
        // NodeMaven's refusals end their lines with a bare LF.
        (
            Vendor::NodeMaven,
            "HTTP/1.1 406 Bad region\nConnection: close\n\n",
            Some("Bad region"),
            auth(AuthReason::Parameters),
        ),
        // Bright Data's header with a space in its name is skipped, and what stands after it is read.
        (
            Vendor::BrightData,
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy Connection: keep-alive\r\n\
             x-brd-err-code: client_10020\r\ncontent-length: 0\r\n\r\n",
            None,
            auth(AuthReason::Suspended),
        ),
        (
            Vendor::BrightData,
            "HTTP/1.1 403 Forbidden\r\ncontent-length: 33\r\n\r\n{\"error\":{\"code\":\"kyc_required\"}}",
            None,
            auth(AuthReason::Suspended),
        ),
    ] {
        let (failure, came) = refused(vendor, answer).await;
        assert_eq!(phrase(&failure), said.map(str::as_bytes), "{answer}");
        assert_eq!((failure.phase(), came), (Phase::Tunnel, outcome), "{answer}");
    }
}

#[tokio::test]
async fn a_plain_answers_phrase_comes_up_and_that_of_a_site_behind_a_tunnel_does_not() {
    let pki = Pki::new("shop.example");
    const ANSWER: &str = "HTTP/1.1 200 As You Like It\r\ncontent-length: 2\r\n\r\nok";
    let forwards = Proxy::start(|mut peer| async move { while peer.answer(ANSWER).await {} }).await;
    let origin = pki.origin.clone();
    let tunnels = Proxy::start(move |peer| {
        let origin = origin.clone();
        async move {
            if let Some(mut site) = peer.tunnel(&origin).await {
                while site.answer(ANSWER).await {}
            }
        }
    })
    .await;
    for (proxy, uri, said) in [
        (&forwards, "http://shop.example/", Some(&b"As You Like It"[..])),
        (&tunnels, "https://shop.example/", None),
    ] {
        let answer = get(&pki.client(), &proxy.route(), uri).await.unwrap();
        assert_eq!(answer.extensions().get().map(ReasonPhrase::as_bytes), said, "{uri}");
    }
}
