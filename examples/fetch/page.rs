//! One page: a request, its answer, and what became of it.

use crate::args::Args;
use bytes::{Bytes, BytesMut};
use http::{Request, StatusCode, Uri};
use http_body_util::BodyExt as _;
use serde::Serialize;
use std::time::{Duration, Instant};
use tower_egress::error::AttemptRecord;
use tower_egress::{Body, EgressClient, Error, LeaseRequest, Served};

/// One line of the results.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    pub(crate) url: String,
    pub(crate) ok: bool,
    pub(crate) status: Option<u16>,
    /// The exit of the last attempt.
    pub(crate) exit: Option<String>,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) bytes: u64,
    pub(crate) ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Attempt {
    pub(crate) exit: String,
    pub(crate) outcome: String,
    pub(crate) waited_ms: u64,
    pub(crate) bytes: u64,
    /// Between this machine and the exit, both ways.
    pub(crate) wire_bytes: u64,
}

impl From<&AttemptRecord> for Attempt {
    fn from(record: &AttemptRecord) -> Self {
        Self {
            exit: record.exit.to_string(),
            outcome: record.outcome.to_string(),
            waited_ms: millis(record.waited),
            bytes: record.bytes,
            wire_bytes: record.wire.total(),
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How often a page whose body broke is asked for again. It was sent with GET, so that is safe.
const MENDS: u32 = 2;

/// Fetches a page. While no exit is usable it waits in line, as long as the deadline allows.
#[allow(clippy::disallowed_methods, reason = "a program may look at the clock")]
pub(crate) async fn fetch(client: &EgressClient, uri: &Uri, ask: LeaseRequest, args: &Args) -> Page {
    let started = Instant::now();
    let until = started + Duration::from_secs(args.deadline.into());
    let (mut before, mut mends) = (Vec::new(), 0);
    let mut page = loop {
        let left = until.saturating_duration_since(Instant::now());
        let ask = ask.clone().deadline(left).patience(left);
        let mut page = match answer(client, uri, ask, args).await {
            Ok((page, broken)) if !broken || mends == MENDS || Instant::now() >= until => break page,
            Ok((page, _)) => {
                mends += 1;
                page
            }
            Err(error) => break Page::failed(uri, &error),
        };
        before.append(&mut page.attempts);
    };
    before.append(&mut page.attempts);
    page.attempts = before;
    page.ms = millis(started.elapsed());
    page
}

/// A page, and whether its body broke.
async fn answer(
    client: &EgressClient,
    uri: &Uri,
    ask: LeaseRequest,
    args: &Args,
) -> Result<(Page, bool), Error> {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = uri.clone();
    request.extensions_mut().insert(ask);
    let response = client.send(request).await?;
    let status = response.status();
    let served = response.extensions().get::<Served>().cloned();
    let (body, end) = read(response.into_body(), args.max_body).await;
    let mut page = Page::of(uri, Some(status), served.as_ref());
    page.bytes = body.len() as u64;
    page.ok = end == End::Whole && served.is_some_and(|served| served.outcome().is_ok());
    page.body = args.body.then(|| String::from_utf8_lossy(&body).into_owned());
    let broken = matches!(end, End::Broken(_));
    page.error = match end {
        End::Broken(error) => Some(error),
        End::TooLong => Some(format!("longer than --max-body {}", args.max_body)),
        End::Whole => (!page.ok).then(|| format!("answered with {status}")),
    };
    Ok((page, broken))
}

/// How a body ended.
#[derive(PartialEq, Eq)]
enum End {
    Whole,
    TooLong,
    Broken(String),
}

/// The body, up to a bound, and how it ended.
async fn read(mut body: tower_egress::client::ResponseBody, most: u64) -> (Bytes, End) {
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => {
                let Some(data) = frame.data_ref() else { continue };
                if (read.len() + data.len()) as u64 > most {
                    return (read.freeze(), End::TooLong);
                }
                read.extend_from_slice(data);
            }
            Err(error) => return (read.freeze(), End::Broken(error.to_string())),
        }
    }
    (read.freeze(), End::Whole)
}

impl Page {
    fn of(uri: &Uri, status: Option<StatusCode>, served: Option<&Served>) -> Self {
        Self {
            url: uri.to_string(),
            ok: false,
            status: status.map(|status| status.as_u16()),
            exit: served.map(|served| served.exit().to_string()),
            attempts: served
                .map_or_else(Vec::new, |served| served.trail().iter().map(Attempt::from).collect()),
            bytes: 0,
            ms: 0,
            body: None,
            error: None,
        }
    }

    fn failed(uri: &Uri, error: &Error) -> Self {
        Self {
            exit: error.exit().map(|exit| exit.to_string()),
            attempts: error.attempts().iter().map(Attempt::from).collect(),
            error: Some(error.to_string()),
            ..Self::of(uri, None, None)
        }
    }
}
