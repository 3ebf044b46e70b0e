//! An origin that speaks HTTP/2: by the book, or frame by frame where no library would do it.

use crate::world::{Event, Peer};
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::{Request, Response};
use std::fmt::Write as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::sync::mpsc::UnboundedSender;

/// Error codes of RFC 9113, 7.
pub(crate) const NO_ERROR: u32 = 0;
pub(crate) const INTERNAL_ERROR: u32 = 2;
pub(crate) const REFUSED_STREAM: u32 = 7;
pub(crate) const CANCEL: u32 = 8;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

impl<T: AsyncRead + AsyncWrite + Unpin> Peer<T> {
    /// Answers `ok` over HTTP/2 until the client closes.
    pub(crate) async fn serve_http2(self) {
        let Ok(mut connection) = h2::server::handshake(self.io).await else { return };
        while let Some(Ok((request, respond))) = connection.accept().await {
            tokio::spawn(answer(request, respond, self.tap.clone()));
        }
    }

    /// Speaks frames.
    pub(crate) async fn frames(mut self) -> Option<Frames<T>> {
        // The preface.
        take(&mut self, 24).await?;
        self.send(&frame(SETTINGS, 0, 0, &[])).await;
        Some(Frames(self))
    }
}

async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, tap: UnboundedSender<Event>) {
    let (head, mut body) = request.into_parts();
    let mut seen = format!("{} {}\n", head.method, head.uri);
    for (name, value) in &head.headers {
        writeln!(seen, "{name}: {}", value.to_str().unwrap()).unwrap();
    }
    while let Some(Ok(data)) = body.data().await {
        seen += std::str::from_utf8(&data).unwrap();
        let _ = body.flow_control().release_capacity(data.len());
    }
    let _ = tap.send(Event::Origin(seen));
    if let Ok(mut stream) = respond.send_response(Response::new(()), false) {
        let _ = stream.send_data(Bytes::from_static(b"ok"), true);
    }
}

/// The origin's end of a connection.
pub(crate) struct Frames<T>(Peer<T>);

impl<T: AsyncRead + AsyncWrite + Unpin> Frames<T> {
    /// The stream of the next request, once all of it is here.
    pub(crate) async fn request(&mut self) -> Option<u32> {
        loop {
            match self.frame().await? {
                (DATA | HEADERS, flags, stream) if flags & END_STREAM != 0 => {
                    let _ = self.0.tap.send(Event::Origin(format!("stream {stream}")));
                    return Some(stream);
                }
                _ => {}
            }
        }
    }

    /// Waits until the client has given a stream up.
    pub(crate) async fn given_up(&mut self) {
        while !matches!(self.frame().await, None | Some((RST_STREAM, ..))) {}
    }

    /// The next frame's type, flags and stream. Settings are accepted.
    async fn frame(&mut self) -> Option<(u8, u8, u32)> {
        let head = take(&mut self.0, 9).await?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        take(&mut self.0, usize::try_from(length).unwrap()).await?;
        if (head[3], head[4]) == (SETTINGS, 0) {
            self.0.send(&frame(SETTINGS, ACK, 0, &[])).await;
        }
        Some((head[3], head[4], stream))
    }

    /// Sends frames, all at once.
    pub(crate) async fn send(&mut self, frames: &[Vec<u8>]) {
        self.0.send(&frames.concat()).await;
    }

    pub(crate) async fn until_closed(&mut self) {
        self.0.until_closed().await;
    }
}

async fn take<T: AsyncRead + AsyncWrite + Unpin>(peer: &mut Peer<T>, bytes: usize) -> Option<Vec<u8>> {
    while peer.read.len() < bytes {
        if peer.io.read_buf(&mut peer.read).await.ok()? == 0 {
            return None;
        }
    }
    Some(peer.read.drain(..bytes).collect())
}

/// The head of a 200 (index 8 of the static table), and the end of the answer unless data are to follow.
pub(crate) fn ok(stream: u32, data_follow: bool) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | if data_follow { 0 } else { END_STREAM }, stream, &[0x88])
}

/// A part of an answer's body, or the last of it.
pub(crate) fn data(stream: u32, last: bool, bytes: &str) -> Vec<u8> {
    frame(DATA, if last { END_STREAM } else { 0 }, stream, bytes.as_bytes())
}

pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// Nothing above stream `last` was or will be looked at.
pub(crate) fn go_away(last: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
