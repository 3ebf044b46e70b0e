//! No login in anything that prints: errors with all their causes, events at every level, and `Debug` of everything.

#![cfg(all(feature = "client", feature = "lab"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_types, reason = "a test's log is no decision's lock")]

use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use std::fmt::{Debug, Write as _};
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tower::{Layer as _, ServiceExt as _};
use tower_egress::exit::{Credential, ProxyTls};
use tower_egress::lab::{Behaviour, Lab, Reply};
use tower_egress::verdict::RetryRules;
use tower_egress::{
    Body, EgressLayer, Exit, ExitClient, ExitList, Gateway, LeaseHandle, LeaseRequest, Pool, Scheduler,
    Served,
};

const USER: &str = "TOKENUSER";
const PASSWORD: &str = "S3CRET";
/// The password with what a URI would end at; here as it is written, escaped, and in base64 with the user.
const WRITTEN: &str = "S3CRET/@#";
const ESCAPED: &str = "S3CRET%2F%40%23";

/// Proxies that repeat the login.
const ECHO: &[u8] = b"HTTP/1.1 407 TOKENUSER\r\nx: TOKENUSER:S3CRET/@#\r\ncontent-length: 6\r\n\r\nS3CRET";
const ECHOED: &[u8] = b"HTTP/1.1 200 OK\r\nx: VE9LRU5VU0VSOlMzQ1JFVA==\r\n\r\nVE9LRU5VU0VSOlMzQ1JFVA==";

/// In every form in which a login may show.
fn assert_silent(text: &str, what: &str) {
    // `TOKENUSER:S3CRET` and what follows, `TOKENUSER:` alone, and the password alone.
    for secret in [USER, PASSWORD, "UzNDUkVU", "VE9LRU5VU0VS", "%53", "S3CR"] {
        assert!(!text.contains(secret), "{secret} in {what}: {text}");
    }
}

/// An error with all its causes, in every way in which it prints.
fn whole(error: &(dyn std::error::Error + 'static)) -> String {
    let mut said = String::new();
    let mut cause = Some(error);
    while let Some(at) = cause {
        write!(said, "{at}\n{at:#}\n{at:?}\n{at:#?}\n").unwrap();
        cause = at.source();
    }
    said
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One listener for all tests of this program, at every level, spans included.
fn listen() -> &'static Log {
    use tracing_subscriber::fmt::format::FmtSpan;
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        let writer = log.clone();
        let listener =
            tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_span_events(FmtSpan::FULL);
        tracing::subscriber::set_global_default(listener.with_writer(move || writer.clone()).finish())
            .unwrap();
        log
    })
}

/// A proxy that reads what comes and says this, then closes.
async fn saying(answers: &'static [&'static [u8]]) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut io, _)) = listener.accept().await {
            tokio::spawn(async move {
                for answer in answers {
                    if matches!(io.read(&mut [0; 4096]).await, Ok(1..)) {
                        let _ = io.write_all(answer).await;
                    }
                }
                let _ = io.read(&mut [0; 4096]).await;
            });
        }
    });
    port
}

/// Sends one request through an exit, with the whole stack, and says all that can be said of it.
async fn through(spec: &str, url: &str) -> String {
    let exit = Exit::parse(spec).unwrap();
    let id = exit.id().to_string();
    let scheduler =
        Scheduler::builder().exits(ExitList::from_iter([exit])).rules(RetryRules::negotiated()).build();
    let scheduler = scheduler.unwrap();
    let client = ExitClient::builder()
        .tunnel_timeout(Duration::from_millis(100))
        .establish_timeout(Duration::from_millis(300))
        .build()
        .unwrap();
    let ask = LeaseRequest::per_request().patience(Duration::ZERO).deadline(Duration::from_secs(1));
    let layer = EgressLayer::new(&scheduler).default_lease(ask).attempt_timeout(Duration::from_millis(500));
    let request = Request::get(url).body(Body::empty()).unwrap();
    let mut said = match layer.layer(client.clone()).oneshot(request).await {
        Ok(answer) => {
            let served = answer.extensions().get::<Served>().unwrap().clone();
            format!("{served:?} {:?} {:?}", served.trail(), served.exit())
        }
        Err(error) => {
            let exit = error.exit().map(|exit| exit.to_string());
            assert_eq!(exit.as_deref(), Some(&*id), "the exit is named by what may be printed");
            format!("{} {:?} {exit:?}", whole(&error), error.attempts())
        }
    };
    write!(said, "{scheduler:?} {:?} {} {client:?} {layer:?}", scheduler.snapshot(), scheduler.snapshot())
        .unwrap();
    assert!(said.contains(&id), "{said}");
    said
}

#[tokio::test]
async fn te_017_te_101_no_failure_of_any_kind_of_proxy_prints_a_login() {
    let (log, mut calls) = (listen(), tokio::task::JoinSet::new());
    let refused = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        listener.local_addr().unwrap().port()
    };
    for login in [
        format!("{USER}:{PASSWORD}@"),
        format!("{USER}:{WRITTEN}@"),
        format!("{USER}:{ESCAPED}@"),
        format!("{USER}@"),
    ] {
        for (scheme, port) in [
            ("http", refused),
            ("http", saying(&[ECHO]).await),
            ("http", saying(&[ECHOED]).await),
            ("http", saying(&[b"S3CRET nonsense\r\n\r\n"]).await),
            ("http", saying(&[]).await),
            ("https", refused),
            ("https", saying(&[ECHO]).await),
            ("https", saying(&[]).await),
            ("socks5", refused),
            ("socks5h", saying(&[b"\x05\xff"]).await),
            ("socks5h", saying(&[b"\x05\x02", b"\x01\x01"]).await),
            ("socks5h", saying(&[b"\x05\x02", b"\x01\x00", b"\x05\x01\x00\x01"]).await),
            ("socks5h", saying(&[b"S3CRET"]).await),
            (
                "socks5h",
                saying(&[b"\x05\x02", b"\x01\x00", b"\x05\x00\x00\x03\x09TOKENUSERxx", ECHOED]).await,
            ),
            ("socks5h", saying(&[]).await),
        ] {
            for url in ["http://192.0.2.7/", "https://192.0.2.7/"] {
                let spec = format!("{scheme}://{login}127.0.0.1:{port}");
                calls.spawn(async move { through(&spec, url).await });
            }
        }
    }
    let said = calls.join_all().await;
    assert_eq!(said.len(), 4 * 15 * 2);
    said.iter().for_each(|said| assert_silent(said, "what a call says"));
    let logged = log.text();
    assert!(logged.contains("report") && logged.contains("exit="), "the log is read");
    assert_silent(&logged, "the log");
}

#[test]
fn te_017_te_101_what_cannot_be_read_is_not_repeated() {
    for spec in [
        "http://TOKENUSER:S3CRET@127.0.0.1:99999",
        "http://TOKENUSER:S3CRET/@#@127.0.0.1",
        "http://TOKENUSER:S3CRET@",
        "http://TOKENUSER@:1",
        "TOKENUSER@proxy.test:x",
        "ftp://TOKENUSER:S3CRET@proxy.test:1",
        "socks4://TOKENUSER:S3CRET@proxy.test:1",
        "socks5h://:S3CRET@proxy.test:1",
        "http://TOKENUSER%3A:S3CRET@proxy.test:1",
        "http://TOKENUSER:S3CRET%0a@proxy.test:1",
        "http://TOKENUSER:S3CRET%ff@proxy.test:1",
        "TOKENUSER:S3CRET:proxy.test",
        "proxy.test:80:TOKENUSER",
        "http:TOKENUSER:S3CRET@proxy.test:1",
        "http://TOKENUSER S3CRET@proxy.test:1",
        "203.0.113.7:8080@TOKENUSER:S3CRET",
        "proxy.test:80|TOKENUSER|S3CRET",
        "proxy.test:80:TOKENUSER:S3CRET@x",
        "PROXY TOKENUSER:S3CRET@proxy.test:1",
        "local://TOKENUSER:S3CRET@192.0.2.7",
        "http://TOKENUSER:S3CRET-{session}@proxy.test:1",
    ] {
        assert_silent(&whole(&Exit::parse(spec).expect_err(spec)), spec);
        assert_silent(&whole(&ExitList::parse(&format!("# ours\n{spec}\n")).expect_err(spec)), spec);
        if !spec.contains("{session}") {
            assert_silent(&whole(&Gateway::parse(spec).expect_err(spec)), spec);
        }
    }
    let long = format!("socks5h://TOKENUSER:{}@proxy.test", "S3CRET".repeat(50));
    assert_silent(&whole(&Exit::parse(&long).unwrap_err()), "a password that is too long");
    for (user, password) in [("TOKEN:USER", PASSWORD), ("TOKENUSER\n", PASSWORD), (USER, "S3CRET\0")] {
        let error = Credential::new(user, password).expect_err(user);
        assert_silent(&whole(&error), "a login");
    }
    let twice = ExitList::parse("TOKENUSER:S3CRET@gw.test:1\nTOKENUSER:S3CRET2@gw.test:1").unwrap();
    assert_silent(&whole(&twice.skipped()[0]), "two passwords");
    assert_silent(&format!("{twice:?} {twice:#?}"), "the list that skipped one");
    let (one, two) = ("http://TOKENUSER:S3CRET@gw.test:1", "http://TOKENUSER:S3CRET2@gw.test:1");
    let apart = [one, two].map(|spec| ExitList::parse(spec).unwrap());
    let [one, two] = apart;
    assert_silent(&whole(&Scheduler::builder().exits(one).exits(two).build().unwrap_err()), "two lists");
}

#[test]
fn lines_that_a_scheduler_does_without_are_logged_without_their_login() {
    let log = listen();
    let list = || ExitList::parse("203.0.113.7:8080\nTOKENUSER:S3CRET@\nTOKENUSER S3CRET\n").unwrap();
    let pool = Pool::new("dc", list()).and(ExitList::parse("203.0.113.8:8080").unwrap());
    let _builder = Scheduler::builder().exits(list()).pool(pool);
    let logged = log.text();
    let told =
        "lines of a list could not be read, and name no exit lines=2 first=line 2: proxy spec has no host";
    assert_eq!(logged.matches(told).count(), 2, "{logged}");
    assert!(logged.contains("WARN"), "{logged}");
    assert_silent(&logged, "the log");
}

/// `Debug` and `Debug` with `#`.
fn shown(of: &dyn Debug) -> String {
    format!("{of:?}\n{of:#?}\n")
}

#[tokio::test]
async fn te_034_no_debug_output_and_no_event_shows_a_login() {
    let log = listen();
    let login = || Credential::new(USER, PASSWORD).unwrap();
    let lab = Lab::builder()
        .site("shop.test")
        .site("pay.test")
        .exits(2, Behaviour::fine().login(login()))
        .start()
        .await
        .unwrap();
    lab.origin().page("/blocked", Reply::new(StatusCode::FORBIDDEN));
    lab.origin().page("/breaks", Reply::new(StatusCode::SERVICE_UNAVAILABLE));
    let (said, mut saw) = tokio::sync::mpsc::unbounded_channel();
    let builder =
        Scheduler::builder().exits(lab.exits()).rules(RetryRules::negotiated()).observe(move |_, event| {
            let _ = said.send(shown(event));
        });
    let mut text = shown(&builder);
    let scheduler = builder.build().unwrap();
    let client = ExitClient::builder().roots_pem(lab.ca_pem().as_bytes());
    text += &shown(&client);
    let client = client.build().unwrap();
    let (handles, mut leased) = tokio::sync::mpsc::unbounded_channel();
    let inner = client.clone();
    let watched = tower::service_fn(move |request: Request<_>| {
        let lease = request.extensions().get::<LeaseHandle>().unwrap();
        let _ = handles.send(shown(lease) + &shown(lease.route()) + &shown(&request.extensions()));
        inner.clone().oneshot(request)
    });
    let ask = || LeaseRequest::new("k").patience(Duration::ZERO).deadline(Duration::from_secs(2));
    let layer = EgressLayer::new(&scheduler).default_lease(ask());
    // It works, it is tried again, the site refuses it, the login is refused, and it ends.
    for (path, refuses) in
        [("/p", false), ("/breaks", false), ("/blocked", false), ("/p", true), ("/p", true)]
    {
        if refuses {
            for exit in 0..2 {
                let no = Reply::new(StatusCode::PROXY_AUTHENTICATION_REQUIRED).body("TOKENUSER:S3CRET");
                let no = no.header(http::header::PROXY_AUTHENTICATE, http::HeaderValue::from_static("Basic"));
                lab.exit(exit).behave(Behaviour::fine().login(login()).answer_connect(no)).unwrap();
            }
        }
        let url = if refuses { format!("https://pay.test{path}") } else { lab.url(path) };
        let request = Request::get(url).body(Body::empty()).unwrap();
        match layer.layer(watched.clone()).oneshot(request).await {
            Ok(answer) => {
                let served = answer.extensions().get::<Served>().unwrap().clone();
                text += &(shown(&answer.extensions()) + &shown(&served) + &shown(&served.trail()));
                let body = answer.into_body();
                text += &shown(&body);
                drop(body.collect().await);
            }
            Err(error) => text += &whole(&error),
        }
    }
    let lease = scheduler.lease(&ask().origin("other.test"));
    text += &(shown(&lease) + &shown(&ask()) + &shown(&scheduler.operator()) + &shown(&layer));
    drop(lease);
    drop(scheduler.operator().drain());
    text += &(shown(&scheduler) + &shown(&scheduler.snapshot()) + &scheduler.snapshot().to_string());
    text += &(shown(&lab.exits())
        + &shown(lab.exit(0).exit())
        + &shown(lab.exit(0).exit().route())
        + &shown(&login()));
    let gateway = Gateway::parse("http://TOKENUSER-{session}:S3CRET@gw.test:1").unwrap();
    let tls = ProxyTls::builder().roots_pem(lab.ca_pem().as_bytes()).server_name("gw.test").build().unwrap();
    text += &(shown(&gateway) + &shown(&gateway.clone().proxy_tls(&tls)) + &shown(&tls));
    let given =
        Gateway::provider("brightdata").unwrap().login(USER, PASSWORD).field("zone", PASSWORD).state(USER);
    text += &(shown(&given) + &whole(&Scheduler::builder().gateway(given.clone()).build().unwrap_err()));
    text += &shown(&Scheduler::builder().gateway(given.country("us")));
    while let Ok(more) = leased.try_recv() {
        text += &more;
    }
    let mut events = 0;
    while let Ok(event) = saw.try_recv() {
        (events, text) = (events + 1, text + &event);
    }
    assert!(events > 10, "{events}");
    assert!(text.contains("gw.test") && text.contains("Rejected"), "there is something to find it in");
    assert_silent(&text, "what prints");
    let logged = log.text();
    assert!(logged.contains("report") && logged.contains("lease"), "the log is read");
    assert_silent(&logged, "the log");
}

/// A token as the user's name alone, in what a person looks at when a connection cannot be made.
#[tokio::test]
async fn te_101_a_token_in_place_of_a_user_name_is_a_secret_too() {
    let refused = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap();
    for scheme in ["http", "https", "socks5", "socks5h"] {
        let spec = format!("{scheme}://{USER}@{refused}");
        let exit = Exit::parse(&spec).unwrap();
        assert!(exit.route().url().ends_with(&refused.to_string()));
        assert_silent(&exit.route().url(), "its URL");
        assert_silent(&exit.id().to_string(), "its name");
        let client = ExitClient::new();
        let mut request = Request::get("http://192.0.2.7/").body(Body::empty()).unwrap();
        request.extensions_mut().insert(exit.route().clone());
        let error = client.clone().oneshot(request).await.unwrap_err();
        assert!(error.to_string().starts_with("exit connect failed"), "{error}");
        assert_silent(&(whole(&error) + &shown(&client) + &shown(&exit)), scheme);
    }
}
