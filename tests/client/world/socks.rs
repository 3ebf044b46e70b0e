//! A SOCKS5 proxy, scripted: what it answers, and at which step it stops.

use super::{Event, Peer, Proxy};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};

/// The shortest reply there is: with an address that is a name of no bytes.
const SHORTEST: usize = 7;

/// What a SOCKS5 proxy answers, message by message. After less than two bytes it says nothing more.
#[derive(Clone)]
pub(crate) struct Socks {
    pub(crate) method: Vec<u8>,
    pub(crate) login: Vec<u8>,
    pub(crate) reply: Vec<u8>,
    /// Hangs up after its last answer, unless that was the reply of a tunnel.
    pub(crate) hangs_up: bool,
    /// Each byte by itself.
    pub(crate) slowly: bool,
}

impl Socks {
    /// One that opens every tunnel, without a login.
    pub(crate) fn open() -> Self {
        let reply = vec![5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        Self { method: vec![5, 0], login: vec![1, 0], reply, hangs_up: false, slowly: false }
    }

    /// One that wants a login.
    pub(crate) fn with_login() -> Self {
        Self { method: vec![5, 2], ..Self::open() }
    }

    pub(crate) fn reply(self, reply: impl Into<Vec<u8>>) -> Self {
        Self { reply: reply.into(), ..self }
    }

    /// A proxy that answers so, and is the origin behind its own tunnels.
    pub(crate) async fn start(self) -> Proxy {
        Proxy::start(move |mut peer| {
            let socks = self.clone();
            async move {
                if peer.socks(&socks).await {
                    peer.serve().await;
                } else if !socks.hangs_up {
                    let rest = peer.all().await;
                    peer.tell(rest);
                }
            }
        })
        .await
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Peer<T> {
    /// Speaks SOCKS5 as the script says; whether a tunnel stands. The messages are read as RFC 1928 and 1929 write them.
    pub(crate) async fn socks(&mut self, socks: &Socks) -> bool {
        let logs_in = socks.method.get(1) == Some(&2);
        self.step(1, &socks.method, socks.slowly).await
            && socks.method[1] != 0xff
            && (!logs_in || self.step(2, &socks.login, socks.slowly).await && socks.login[1] == 0)
            && self.request().await
            && self.say(&socks.reply, socks.slowly).await
            && socks.reply[1] == 0
            && socks.reply.len() >= SHORTEST
    }

    /// Reads the one message of SOCKS4, with a name if it is 4a, and answers it.
    pub(crate) async fn socks4(&mut self, reply: &[u8], slowly: bool) -> bool {
        let mut message = Vec::new();
        let mut whole = self.take(8, &mut message).await;
        let texts = if message.get(4..7) == Some(&[0, 0, 0]) { 2 } else { 1 };
        for _ in 0..texts {
            loop {
                whole = whole && self.take(1, &mut message).await;
                if !whole || message.last() == Some(&0) {
                    break;
                }
            }
        }
        self.tell(message);
        whole && self.say(reply, slowly).await && reply.len() >= 8 && reply[..2] == [0, 90]
    }

    /// Lets in who sends this login, and opens a tunnel.
    pub(crate) async fn socks_with(&mut self, login: &[u8]) -> bool {
        if self.message(1).await.is_none_or(|greeting| greeting != [5, 1, 2]) {
            self.send(&[5, 0xff]).await;
            return false;
        }
        self.send(&[5, 2]).await;
        let right = self.message(2).await.is_some_and(|sent| sent == login);
        self.send(&[1, u8::from(!right)]).await;
        right && self.request().await && self.say(&Socks::open().reply, false).await
    }

    /// Reads a message of so many parts, and answers it.
    async fn step(&mut self, parts: usize, answer: &[u8], slowly: bool) -> bool {
        self.message(parts).await.is_some() && self.say(answer, slowly).await
    }

    /// Reads a message of a byte and of parts that each say how long they are, and tells of it.
    async fn message(&mut self, parts: usize) -> Option<Vec<u8>> {
        let mut message = Vec::new();
        let mut whole = self.take(1, &mut message).await;
        for _ in 0..parts {
            whole = whole && self.take(1, &mut message).await;
            let length = message.last().map_or(0, |length| usize::from(*length));
            whole = whole && self.take(length, &mut message).await;
        }
        self.tell(message.clone());
        whole.then_some(message)
    }

    async fn request(&mut self) -> bool {
        let mut message = Vec::new();
        let begun = self.take(5, &mut message).await;
        // The first byte of the address is read already; of a name it is the length.
        let rest = match message.get(3) {
            Some(1) => 3,
            Some(4) => 15,
            _ => message.get(4).map_or(0, |length| usize::from(*length)),
        };
        let whole = begun && self.take(rest + 2, &mut message).await;
        self.tell(message);
        whole
    }

    /// Answers; false if that was too little to go on.
    async fn say(&mut self, answer: &[u8], slowly: bool) -> bool {
        if slowly {
            self.send_slowly(answer).await;
        } else {
            self.send(answer).await;
        }
        answer.len() > 1
    }

    /// Moves so many bytes into a message; false at the end of the stream.
    async fn take(&mut self, bytes: usize, into: &mut Vec<u8>) -> bool {
        while self.read.len() < bytes && matches!(self.io.read_buf(&mut self.read).await, Ok(1..)) {}
        let there = bytes.min(self.read.len());
        into.extend(self.read.drain(..there));
        there == bytes
    }

    fn tell(&self, message: Vec<u8>) {
        if !message.is_empty() {
            let _ = self.tap.send(Event::Socks(message));
        }
    }
}
