//! Templates: where a provider wants what in user name, password, host and port.
//!
//! `{name}` is a placeholder. What stands in brackets and holds a placeholder is optional: `[-country-{country}]` is left
//! out, dash and word included, if the country is not given. Brackets around anything else are text.

use super::{Via, spec};
use crate::error::ConfigError;
use std::borrow::Cow;
use std::ops::Range;

/// Longest name of a placeholder.
const NAME_MOST: usize = 32;
/// Most bytes of a template: some ten times the longest that a provider shows. Reading one looks ahead from each bracket, and
/// joins texts again at each, so its time grows with the square of its length.
const BYTES_MOST: usize = 4_096;

fn bad(what: &'static str, cure: &'static str) -> ConfigError {
    ConfigError::new("gateway", what, cure)
}

/// A part of a template: user name, password or host.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Text(Vec<Piece>);

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    Text(Box<str>),
    Field(Box<str>),
    Optional(Vec<Self>),
}

/// The port, or the ports each of which is a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Port {
    One(u16),
    /// Both ends included.
    Range(u16, u16),
    Field(Box<str>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Template {
    pub(super) via: Via,
    /// User name and password, if it has a login.
    pub(super) login: Option<[Text; 2]>,
    pub(super) host: Text,
    pub(super) port: Port,
}

impl Text {
    pub(super) fn parse(text: &str) -> Result<Self, ConfigError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('[') {
            let end = rest[at..].find(']').map(|end| at + end);
            let Some(inside) = end.map(|end| &rest[at + 1..end]).filter(|inside| inside.contains('{')) else {
                flat(&rest[..=at], &mut pieces)?;
                rest = &rest[at + 1..];
                continue;
            };
            if inside.contains('[') {
                let cure = "close each optional part before the next: [-country-{country}][-city-{city}]";
                return Err(bad("has brackets inside brackets", cure));
            }
            flat(&rest[..at], &mut pieces)?;
            let mut optional = Vec::new();
            flat(inside, &mut optional)?;
            pieces.push(Piece::Optional(optional));
            rest = &rest[at + inside.len() + 2..];
        }
        flat(rest, &mut pieces)?;
        Ok(Self(pieces))
    }

    /// What is left once optional parts with a placeholder that has no value are dropped.
    pub(super) fn given<'a>(&'a self, has: &dyn Fn(&str) -> bool) -> Vec<&'a Piece> {
        let mut left = Vec::with_capacity(self.0.len());
        for piece in &self.0 {
            match piece {
                Piece::Optional(inside) => {
                    let full = |piece: &Piece| piece.field().is_none_or(has);
                    left.extend(inside.iter().filter(|_| inside.iter().all(full)));
                }
                _ => left.push(piece),
            }
        }
        left
    }

    /// The names of its placeholders, those of optional parts too.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .flat_map(|piece| match piece {
                Piece::Optional(inside) => inside.as_slice(),
                piece => std::slice::from_ref(piece),
            })
            .filter_map(Piece::field)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Appends it with its values. A placeholder without one stays as it is written.
    pub(super) fn render<'a>(&self, value: &dyn Fn(&str) -> Option<Cow<'a, str>>, to: &mut String) {
        for piece in &self.0 {
            match piece {
                Piece::Optional(inside) => {
                    let full = |piece: &Piece| piece.field().is_none_or(|name| value(name).is_some());
                    if inside.iter().all(full) {
                        inside.iter().for_each(|piece| piece.render(value, to));
                    }
                }
                piece => piece.render(value, to),
            }
        }
    }
}

impl Piece {
    pub(super) fn field(&self) -> Option<&str> {
        match self {
            Self::Field(name) => Some(name),
            Self::Text(_) | Self::Optional(_) => None,
        }
    }

    fn render<'a>(&self, value: &dyn Fn(&str) -> Option<Cow<'a, str>>, to: &mut String) {
        match self {
            Self::Text(text) => to.push_str(text),
            Self::Field(name) => match value(name) {
                Some(value) => to.push_str(&value),
                None => to.extend(["{", name, "}"]),
            },
            Self::Optional(_) => {}
        }
    }
}

/// Text and placeholders, appended; what touches is one text.
fn flat(text: &str, pieces: &mut Vec<Piece>) -> Result<(), ConfigError> {
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        push(&rest[..at], pieces);
        let name = rest[at..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let Some((name, after)) = name else {
            let cure =
                "write {name}; where a brace is meant, write {pass} and give the password by Gateway::login";
            return Err(bad("has a brace without its other half", cure));
        };
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || name.len() > NAME_MOST || !name.chars().all(good) {
            let cure = "name it by at most 32 letters, digits and `_`; where braces are meant, write {pass} and give the \
                        password by Gateway::login";
            return Err(bad("has a placeholder whose name is none", cure));
        }
        pieces.push(Piece::Field(name.into()));
        rest = after;
    }
    push(rest, pieces);
    Ok(())
}

fn push(text: &str, pieces: &mut Vec<Piece>) {
    if text.is_empty() {
        return;
    }
    match pieces.last_mut() {
        Some(Piece::Text(before)) => *before = [&**before, text].concat().into(),
        _ => pieces.push(Piece::Text(text.into())),
    }
}

impl Template {
    /// Reads a proxy spec with placeholders. What stands in the address in their place is put there before the spec is read
    /// as any other, and taken out again.
    pub(super) fn parse(spec: &str) -> Result<Self, ConfigError> {
        let spec = spec.trim();
        if spec.len() > BYTES_MOST {
            let cure = "check that it is one template; what is long goes into a field";
            return Err(bad("has more than 4,096 bytes", cure));
        }
        let at = address(spec).unwrap_or(0..0);
        let (host, port) = split(&spec[at.clone()]);
        let (odd_host, odd_port) = (host.contains('{'), port.filter(|port| port.contains(['{', '-'])));
        let mut plain = Cow::Borrowed(spec);
        if odd_host || odd_port.is_some() {
            let host = if odd_host { "x.test" } else { host };
            let port = odd_port.map_or(port, |_| Some("1"));
            let (colon, port) = port.map_or(("", ""), |port| (":", port));
            plain = [&spec[..at.start], host, colon, port, &spec[at.end..]].concat().into();
        }
        let exit = spec::parse(&plain)?;
        let route = exit.route();
        let login = route.credential().map(|login| -> Result<_, ConfigError> {
            Ok([Text::parse(login.user())?, Text::parse(login.password())?])
        });
        let host = if odd_host { Text::parse(host)? } else { Text::parse(route.host())? };
        let port = odd_port.map_or_else(|| Ok(Port::One(route.port())), Port::parse)?;
        Ok(Self { via: route.via(), login: login.transpose()?, host, port })
    }

    /// Its parts, with the word for each.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&'static str, &Text)> {
        let [user, password] =
            self.login.as_ref().map_or([None; 2], |[user, password]| [Some(user), Some(password)]);
        let login = [("user name", user), ("password", password)];
        login.into_iter().filter_map(|(word, text)| Some((word, text?))).chain([("host", &self.host)])
    }

    /// The names of its placeholders.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let port = match &self.port {
            Port::Field(name) => Some(&**name),
            Port::One(_) | Port::Range(..) => None,
        };
        self.parts().flat_map(|(_, text)| text.names()).chain(port)
    }
}

impl Port {
    fn parse(port: &str) -> Result<Self, ConfigError> {
        if let Some(name) = port.strip_prefix('{').and_then(|port| port.strip_suffix('}')) {
            return match Text::parse(port)?.0.as_slice() {
                [Piece::Field(_)] => Ok(Self::Field(name.into())),
                _ => Err(bad("has a port of several parts", "write it as one placeholder")),
            };
        }
        let number = |port: &str| port.parse().ok().filter(|port| *port > 0);
        match port.split_once('-').map(|(first, last)| (number(first), number(last))) {
            Some((Some(first), Some(last))) if first <= last => Ok(Self::Range(first, last)),
            _ => Err(bad("has a range of ports that is none", "write it like 10000-10999")),
        }
    }
}

/// Where host and port of a spec stand. `None` where only the parser of specs can say what is what.
fn address(spec: &str) -> Option<Range<usize>> {
    let start = spec.find("://").map_or(0, |at| at + 3);
    let rest = &spec[start..];
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let end = start + rest.len();
    if let Some(at) = rest.rfind('@') {
        return Some(start + at + 1..end);
    }
    let from = if rest.starts_with('[') { rest.find(']')? } else { 0 };
    let colons: Vec<usize> = rest[from..].match_indices(':').map(|(at, _)| at + from).collect();
    match colons[..] {
        [] | [_] => Some(start..end),
        [_, _] => None,
        [first, second, ..] if is_port(&rest[first + 1..second]) => Some(start..start + second),
        [.., before, _] => Some(start + before + 1..end),
    }
}

fn split(address: &str) -> (&str, Option<&str>) {
    let bracket = address.starts_with('[') && !address.contains("[{");
    let from = if bracket { address.find(']').unwrap_or(0) } else { 0 };
    match address[from..].split_once(':') {
        Some((_, port)) => (&address[..address.len() - port.len() - 1], Some(port)),
        None => (address, None),
    }
}

fn is_port(text: &str) -> bool {
    let placeholder = text.starts_with('{') && text.ends_with('}');
    placeholder || (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_a_bound() {
        let long = |bytes: usize| {
            let (before, after) = ("http://u-{session}:", "@gw.test:80");
            format!("{before}{}{after}", "[".repeat(bytes - before.len() - after.len()))
        };
        assert!(Template::parse(&long(BYTES_MOST)).is_ok());
        let told = Template::parse(&long(BYTES_MOST + 1)).unwrap_err().to_string();
        assert!(told.starts_with("gateway has more than 4,096 bytes; "), "{told}");
    }
}
