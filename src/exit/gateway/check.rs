//! What is wrong with a gateway, found when the scheduler is built: its setters refuse nothing.

use super::super::catalog::Token;
use super::super::template::{Piece, Port};
use super::super::token::Shape;
use super::super::{Credential, country, spec};
use super::fields::{self, Unit, given_as, is_secret};
use super::{Gateway, Inner, Kind};
use crate::error::{ConfigError, nearest};
use std::collections::BTreeSet;
use std::time::Duration;

/// Slots are made when the pool is built; as many again serve nobody better.
const MOST_SESSIONS: u32 = 65_536;
/// Longest value that is no login, in bytes: no place has a longer name.
const VALUE_MOST: usize = 128;

/// A part of the template as it will be filled: without the optional parts that are left out.
struct Part<'a> {
    word: &'static str,
    pieces: Vec<&'a Piece>,
}

impl Gateway {
    /// What its setters cannot refuse. No message repeats a value.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let Inner { sessions, lifetime, idle, kind, .. } = &*self.0;
        if sessions.is_some_and(|sessions| sessions.get() > MOST_SESSIONS) {
            let cure = "set at most 65,536: what holds an exit has a session of its own beside them";
            return Err(ConfigError::new("gateway sessions", format!("are {}", self.slots()), cure));
        }
        if *kind == Kind::Sessions && u64::from(self.slots()) > self.tokens() {
            let cure = "ask for fewer sessions, or for longer tokens";
            return Err(ConfigError::new("gateway sessions", "are more than there are tokens", cure));
        }
        if lifetime.is_some_and(|lifetime| lifetime.is_zero()) {
            let cure = "give what the provider says, or Gateway::rotating if each connection is another exit";
            return Err(ConfigError::new("gateway lifetime", "is zero", cure));
        }
        if idle.is_some_and(|idle| idle.is_zero()) {
            let cure = "give what the provider says, or Gateway::rotating if each connection is another exit";
            return Err(ConfigError::new("gateway idle", "is zero", cure));
        }
        let has = |name: &str| self.0.value(name, Some("")).is_some();
        let parts: Vec<Part<'_>> =
            self.0.template.parts().map(|(word, text)| Part { word, pieces: text.given(&has) }).collect();
        self.0.check_names(&parts)?;
        for part in &parts {
            self.0.check_part(part)?;
        }
        self.0.check_places()?;
        self.0.check_life(&parts)?;
        self.0.check_row()?;
        self.0.check_whole()
    }
}

impl Inner {
    /// `brightdata` before what is wrong with it.
    fn wrong(&self, what: &str, cure: &'static str) -> ConfigError {
        let whose = match self.row {
            Some(row) => format!("gateway `{}`", row.name),
            None => {
                // Without the values in it.
                let mut host = String::new();
                self.template.host.render(&|_| None, &mut host);
                format!("gateway at {host}")
            }
        };
        ConfigError::new(whose, what.to_owned(), cure)
    }

    /// Every placeholder has a value, and every value a placeholder.
    fn check_names(&self, parts: &[Part<'_>]) -> Result<(), ConfigError> {
        if self.fields.get(fields::SESSION).is_some() {
            return Err(
                self.wrong("is given a `session`", "leave it out: tokens are made here, one for each exit")
            );
        }
        if let Some(name) = self.fields.own_names().find(|name| Unit::of(name).is_some()) {
            return Err(self.wrong(&format!("is given `{name}` as a field"), "give it by Gateway::ttl"));
        }
        // A slip of the pen hides the value that it was meant to be: it is the better word on both.
        let known = |name: &str| self.template.names().any(|known| known == name || given_as(known) == name);
        let slip = |name: &&str| !known(name) && nearest(name, self.template.names()).is_some();
        if let Some(name) = self.fields.names().find(slip) {
            return Err(self.without_place(name));
        }
        let mut used = BTreeSet::new();
        for part in parts {
            for name in part.pieces.iter().filter_map(|piece| piece.field()) {
                if self.value(name, Some("")).is_none() {
                    return Err(self.without_value(name, part.word == "password"));
                }
                used.extend([name, given_as(name)]);
            }
        }
        if let Port::Field(name) = &self.template.port {
            if self.fields.get(name).is_none() {
                return Err(self.without_value(name, false));
            }
            used.insert(name);
        }
        let unused = self.fields.names().find(|name| !used.contains(name));
        unused.map_or(Ok(()), |name| Err(self.without_place(name)))
    }

    /// Whether a value begins with what stands before its placeholder.
    fn has_prefix(&self, name: &str, before: &str) -> bool {
        before.len() > 1 && self.value(name, None).is_some_and(|value| value.starts_with(before))
    }

    fn without_value(&self, name: &str, in_password: bool) -> ConfigError {
        let cure = match given_as(name) {
            _ if name == fields::NAME && self.fields.get(fields::COUNTRY).is_some() => {
                "its country's name is not known here: give it by Gateway::field(\"CountryName\", ..), as the provider spells it"
            }
            fields::COUNTRY => "give it by Gateway::country",
            fields::STATE => "give it by Gateway::state",
            fields::CITY => "give it by Gateway::city",
            fields::USER | fields::PASS => "give it by Gateway::login",
            "ttl" => "give it by Gateway::ttl: how long a session lives by default is not known",
            _ => "give it by Gateway::field, or correct the template",
        };
        if fields::KNOWN.contains(&name) || self.row.is_some() {
            return self.wrong(&format!("has no value for `{{{name}}}`"), cure);
        }
        let known = fields::KNOWN.into_iter().chain(self.fields.names());
        match nearest(name, known) {
            Some(near) => {
                self.wrong(&format!("has no value for `{{{name}}}`: did you mean `{{{near}}}`?"), cure)
            }
            // It may be a password with braces in it.
            None if in_password => self.wrong("has no value for a placeholder in its password", cure),
            None => self.wrong(&format!("has no value for `{{{name}}}`"), cure),
        }
    }

    fn without_place(&self, name: &str) -> ConfigError {
        if name == fields::COUNTRY && self.template.names().any(|known| known == fields::NAME) {
            return self.without_value(fields::NAME, false);
        }
        let is_it = |known: &str| known == name || given_as(known) == name;
        if self.template.names().any(is_it) {
            let cure =
                "an optional part is left out if one of its placeholders has no value: give the other too";
            return self.wrong(&format!("is given `{name}`, and leaves it out"), cure);
        }
        let what = match nearest(name, self.template.names()) {
            Some(near) => format!("is given `{name}`, and has no `{{{name}}}`: did you mean `{{{near}}}`?"),
            None => format!("is given `{name}`, and has no `{{{name}}}`"),
        };
        let cure = match name {
            "ttl" => {
                "the lifetime of its sessions is fixed: say it by Gateway::lifetime, or write it into the template"
            }
            _ => {
                "half the providers ignore what they do not know: leave it out, or put the placeholder into the template"
            }
        };
        self.wrong(&what, cure)
    }

    /// Values keep apart from each other and from what separates them.
    fn check_part(&self, part: &Part<'_>) -> Result<(), ConfigError> {
        let mut separators = BTreeSet::new();
        for pair in part.pieces.windows(2) {
            let odd = |c: Option<char>| c.filter(|c| !c.is_alphanumeric());
            match pair {
                [Piece::Field(one), Piece::Field(two)] => {
                    let what = if part.word == "password" {
                        "has two placeholders side by side in its password".to_owned()
                    } else {
                        format!("has `{{{one}}}` and `{{{two}}}` side by side")
                    };
                    return Err(self.wrong(&what, "put a separator between: their values would run together"));
                }
                [Piece::Text(text), Piece::Field(_)] if text.ends_with('$') => {
                    let cure =
                        "write {session}, without what a shell wants; a `$` that is meant goes into a field";
                    return Err(self.wrong("has a `$` before a placeholder", cure));
                }
                [Piece::Text(text), Piece::Field(name)]
                    if **name == *fields::USER && self.has_prefix(name, text) =>
                {
                    let cure = "give the account alone: the template puts the rest around it";
                    return Err(self.wrong(&format!("is given a `{name}` that begins with `{text}`"), cure));
                }
                [Piece::Text(text), Piece::Field(name)] if !is_login(name) => {
                    separators.extend(odd(text.chars().next_back()));
                }
                [Piece::Field(name), Piece::Text(text)] if !is_login(name) => {
                    separators.extend(odd(text.chars().next()));
                }
                _ => {}
            }
        }
        for name in
            part.pieces.iter().filter_map(|piece| piece.field()).filter(|name| *name != fields::SESSION)
        {
            let Some(value) = self.value(name, None) else { continue };
            let said = given_as(name);
            if part.word == "host" {
                let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
                if value.is_empty() || !value.bytes().all(good) {
                    let cure =
                        "give the part of the host name that stands there: letters, digits, `-` and `.`";
                    return Err(self.wrong(&format!("has a `{said}` that is no part of a host"), cure));
                }
            }
            if is_login(name) {
                continue;
            }
            if value.is_empty() {
                let cure = "give a value, or leave the field out: some providers hang on an empty one";
                return Err(self.wrong(&format!("has an empty `{said}`"), cure));
            }
            if value.len() > VALUE_MOST || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
                let cure =
                    "write it as the provider does: at most 128 letters, digits and signs of ASCII, no space";
                return Err(self.wrong(&format!("has a `{said}` that no grammar takes"), cure));
            }
            // Rules are several values, separated as the grammar does.
            let bad = value
                .chars()
                .find(|c| separators.contains(c))
                .filter(|_| name != "rules" || self.row.is_none());
            if let Some(bad) = bad {
                let what = format!("has a `{said}` with `{bad}`, which ends a value there");
                return Err(self.wrong(
                    &what,
                    "write it as the provider does; several values go into the template itself",
                ));
            }
        }
        Ok(())
    }

    /// The country is one, and places are written as the provider wants them.
    fn check_places(&self) -> Result<(), ConfigError> {
        let geo = self.row.map(|row| row.geo);
        let given = self.fields.get(fields::COUNTRY);
        if let Some(code) = given {
            let special = geo.is_some_and(|geo| (geo.any && code == "any") || (geo.uk && code == "uk"));
            if code == "uk" && !special {
                return Err(
                    self.wrong("has a country that ISO 3166 does not know", "the United Kingdom is gb")
                );
            }
            if !special && !country::is(code) {
                let cure = "give the two letters of ISO 3166, like de";
                return Err(self.wrong("has a country that ISO 3166 does not know", cure));
            }
        }
        let Some(geo) = geo else { return Ok(()) };
        let (state, city) = (self.fields.get(fields::STATE), self.fields.get(fields::CITY));
        if geo.in_country && given.is_none() && (state.is_some() || city.is_some()) {
            let cure = "give the country too: the provider wants it with a state or city";
            return Err(self.wrong("is given a state or city without a country", cure));
        }
        if geo.in_state && city.is_some() && state.is_none() {
            return Err(
                self.wrong("is given a city without a state", "give the state too: the provider wants it")
            );
        }
        for (name, place, spelling) in [("state", state, geo.state), ("city", city, geo.city)] {
            if place.is_some_and(|place| !spelling.takes(place, given)) {
                return Err(self.wrong(&format!("has a {name} in another spelling"), spelling.cure()));
            }
        }
        Ok(())
    }

    /// The provider keeps sessions for so long, and can be told so.
    fn check_life(&self, parts: &[Part<'_>]) -> Result<(), ConfigError> {
        let Some(ttl) = self.fields.ttl else { return Ok(()) };
        if ttl.is_zero() || ttl.subsec_nanos() != 0 {
            return Err(
                self.wrong("has a lifetime that is not whole seconds", "give whole seconds, at least one")
            );
        }
        let names = parts.iter().flat_map(|part| &part.pieces).filter_map(|piece| piece.field());
        let seconds_allowed = self.row.is_none_or(|row| row.life.seconds);
        for unit in names.filter_map(Unit::of) {
            let minutes = unit == Unit::Minutes || (unit == Unit::Any && !seconds_allowed);
            if minutes && ttl.as_secs() % 60 != 0 {
                let cure = "its template counts in minutes: give a whole number of them";
                return Err(self.wrong("has a lifetime that is not whole minutes", cure));
            }
        }
        let Some(life) = self.row.map(|row| row.life) else { return Ok(()) };
        let within = Duration::from_secs(life.least.into())..=Duration::from_secs(if life.most > 0 {
            life.most.into()
        } else {
            u64::MAX
        });
        if !within.contains(&ttl) {
            let what = match (life.least, life.most) {
                (0, most) => format!("keeps sessions for at most {most} s"),
                (least, 0) => format!("keeps sessions for at least {least} s"),
                (least, most) => format!("keeps sessions for {least} to {most} s"),
            };
            return Err(self.wrong(&what, "give a lifetime within that"));
        }
        Ok(())
    }

    /// The catalogue's row takes such tokens, and is spoken to in that way.
    fn check_row(&self) -> Result<(), ConfigError> {
        let Some(row) = self.row else { return Ok(()) };
        if row.port_for(self.template.via).is_none() {
            let cure = "leave the default, or write the template with the port that the provider has for it";
            return Err(self.wrong("has no known port for that scheme", cure));
        }
        let Some(Token { chars, least, most, .. }) = row.token else { return Ok(()) };
        let Shape { alphabet, length } = self.shape;
        if !chars.takes(alphabet) {
            return Err(self.wrong("takes no such tokens", "leave the shape of tokens to the catalogue"));
        }
        if length < least || (most > 0 && length > most) {
            let what = match (least, most) {
                (least, most) if least == most => format!("takes tokens of {least} characters"),
                (least, 0) => format!("takes tokens of at least {least} characters"),
                (least, most) => format!("takes tokens of {least} to {most} characters"),
            };
            return Err(self.wrong(&what, "leave the length of tokens to the catalogue"));
        }
        Ok(())
    }

    /// What is rendered can be dialled, and its login fits the protocol: what does not fit would be dialled without one.
    fn check_whole(&self) -> Result<(), ConfigError> {
        let port = self.ready.ports.0;
        if port == 0 {
            return Err(self.wrong("has a port that is not 1 to 65535", "give the number alone"));
        }
        let host = &self.ready.host;
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_string() };
        spec::parse(&format!("http://{host}:{port}"))?;
        let filler = "0".repeat(self.shape.length.into());
        let token = (self.kind == Kind::Sessions).then_some(&*filler);
        if let Some([user, password]) = self.login(token) {
            Credential::of(self.template.via, &user, &password)?;
        }
        Ok(())
    }
}

/// Whether it is the account's, and as the provider has made it.
fn is_login(name: &str) -> bool {
    name == fields::USER || is_secret(name)
}
