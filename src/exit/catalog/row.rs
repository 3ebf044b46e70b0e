//! How a row is written: a name, then what is known.

use super::provider::{Chars, Confidence, Geo, Life, OnLoss, Ports, Provider, Spelling, Token};
use crate::exit::token::{Alphabet, SHAPE, Shape};
use crate::exit::{Vendor, Via};

/// A row of which nothing is known yet.
pub(super) const fn row(name: &'static str, company: &'static str, product: &'static str) -> Provider {
    Provider {
        name,
        company,
        product,
        user: "",
        password: "",
        host: "",
        ports: Ports::Given,
        via: Via::Http,
        also: &[],
        token: None,
        life: Life { default: 0, least: 0, most: 0, idle: 0, from_use: false, seconds: false },
        geo: Geo {
            state: Spelling::Free,
            city: Spelling::Free,
            in_country: false,
            in_state: false,
            uk: false,
            any: false,
        },
        on_loss: OnLoss::Unknown,
        vendor: None,
        confidence: Confidence::Low,
        source: "",
        note: "",
    }
}

impl Provider {
    pub(super) const fn login(mut self, user: &'static str, password: &'static str) -> Self {
        (self.user, self.password) = (user, password);
        self
    }

    pub(super) const fn at(mut self, host: &'static str, port: u16) -> Self {
        (self.host, self.ports) = (host, Ports::One(port));
        self
    }

    /// Each port is a session.
    pub(super) const fn at_ports(mut self, host: &'static str, first: u16, last: u16) -> Self {
        (self.host, self.ports) = (host, Ports::Range(first, last));
        self
    }

    /// The address is the user's own.
    pub(super) const fn at_given(mut self, host: &'static str) -> Self {
        (self.host, self.ports) = (host, Ports::Given);
        self
    }

    pub(super) const fn by(mut self, via: Via) -> Self {
        self.via = via;
        self
    }

    pub(super) const fn also(mut self, also: &'static [(Via, u16)]) -> Self {
        self.also = also;
        self
    }

    /// Tokens of these characters, and of so many; no limit is 0.
    pub(super) const fn token(mut self, chars: Chars, least: u8, most: u8) -> Self {
        let shape = match chars {
            Chars::Digits => Shape { alphabet: Alphabet::Digits, length: 8 },
            // 16^8 would collide sooner than the letters do.
            Chars::Hex => Shape { alphabet: Alphabet::Hex, length: 12 },
            _ => SHAPE,
        };
        let length = if least > shape.length { least } else { shape.length };
        self.token = Some(Token { shape: Shape { length, ..shape }, chars, least, most });
        self
    }

    /// Seconds; what is not known is 0.
    pub(super) const fn lives(mut self, default: u32, most: u32) -> Self {
        (self.life.default, self.life.most) = (default, most);
        self
    }

    pub(super) const fn at_least(mut self, seconds: u32) -> Self {
        self.life.least = seconds;
        self
    }

    pub(super) const fn idle(mut self, seconds: u32) -> Self {
        self.life.idle = seconds;
        self
    }

    pub(super) const fn kept_by_use(mut self) -> Self {
        self.life.from_use = true;
        self
    }

    /// `{ttl}` may be in seconds.
    pub(super) const fn in_seconds(mut self) -> Self {
        self.life.seconds = true;
        self
    }

    pub(super) const fn places(mut self, state: Spelling, city: Spelling) -> Self {
        (self.geo.state, self.geo.city) = (state, city);
        self
    }

    pub(super) const fn in_country(mut self) -> Self {
        self.geo.in_country = true;
        self
    }

    pub(super) const fn city_in_state(mut self) -> Self {
        self.geo.in_state = true;
        self
    }

    pub(super) const fn says_uk(mut self) -> Self {
        self.geo.uk = true;
        self
    }

    pub(super) const fn says_any(mut self) -> Self {
        self.geo.any = true;
        self
    }

    pub(super) const fn loses(mut self, on_loss: OnLoss) -> Self {
        self.on_loss = on_loss;
        self
    }

    pub(super) const fn vendor_is(mut self, vendor: Vendor) -> Self {
        self.vendor = Some(vendor);
        self
    }

    pub(super) const fn source_is(mut self, confidence: Confidence, source: &'static str) -> Self {
        (self.confidence, self.source) = (confidence, source);
        self
    }

    pub(super) const fn noting(mut self, note: &'static str) -> Self {
        self.note = note;
        self
    }
}
