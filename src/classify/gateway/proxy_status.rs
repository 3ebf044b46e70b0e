//! `Proxy-Status` (RFC 9209), leniently: Bright Data writes the error as a string instead of a token, gives its own status for
//! what it received, and begins the details with its code.

use super::signal::Says::{Blocked, Busy, Denied, Exit, Failed, Unreachable};
use super::signal::{Signal, Word, code};
use super::{Reply, bright_data, marks};
use crate::exit::Vendor;
use crate::outcome::GatewayScope::Gateway;
use sfv::visitor::{EntryVisitor, Ignored, InnerListVisitor, ItemVisitor, ListVisitor, ParameterVisitor};
use sfv::{BareItemFromInput, KeyRef, Parser, StringRef};
use std::borrow::Cow;
use std::convert::Infallible;

/// RFC 9209, 2.3. What a request's status says better is not here: `http_request_error`, `proxy_internal_response`.
const ERRORS: &[Signal] = &[
    code(&["dns_error", "destination_not_found", "tls_certificate_error"], Failed),
    code(&["dns_timeout", "destination_unavailable", "connection_refused"], Unreachable).before_arrival(),
    code(&["connection_timeout", "tls_protocol_error"], Unreachable).before_arrival(),
    code(&["connection_terminated", "connection_read_timeout"], Unreachable),
    code(&["connection_write_timeout", "http_response_timeout"], Unreachable),
    code(&["destination_ip_prohibited", "http_request_denied"], Denied),
    code(&["destination_ip_unroutable"], Exit).before_arrival(),
    code(&["http_response_incomplete", "http_response_transfer_coding", "http_protocol_error"], Exit),
    code(&["connection_limit_reached", "proxy_internal_error"], Busy(Gateway)),
    code(&["tls_alert_received"], Blocked).before_arrival(),
    // What it answers is not to be had through this proxy, and hardly through another.
    code(&["http_response_header_section_size", "http_response_header_size"], Failed).maybe_arrived(),
    code(&["http_response_trailer_section_size", "http_response_trailer_size"], Failed).maybe_arrived(),
    code(&["http_response_body_size", "http_response_content_coding"], Failed).maybe_arrived(),
    code(&["http_upgrade_failed"], Failed).maybe_arrived(),
    // The proxy is set up wrongly, or in a circle. That is no fault of the login or the request, and the next one may not be.
    code(&["proxy_configuration_error", "proxy_loop_detected"], Exit).before_arrival(),
];

pub(super) const HEADER: &str = "proxy-status";

/// What the member nearest to us says that has an error.
pub(super) fn word(reply: &Reply<'_>) -> Option<Word> {
    reply.headers.get_all(HEADER).iter().rev().find_map(|line| {
        let mut last = None;
        // A line that is not well-formed says nothing (RFC 9651, 4.2).
        Parser::new(line.as_bytes()).parse_list_with_visitor(Members(&mut last)).ok()?;
        let Member { error, details } = last?;
        let details = details.as_ref().map_or("", |details| details.as_str());
        let end = details.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
        let code = &details.as_bytes()[..end.unwrap_or(details.len())];
        let coded = marks::is_heard(reply, Vendor::BrightData);
        let provider = coded.then(|| reply.first(bright_data::CODES, code)).flatten();
        provider.or_else(|| reply.first(ERRORS, error.as_bytes()))
    })
}

/// A hop, as far as it is read.
struct Member<'de> {
    error: Cow<'de, str>,
    details: Option<Cow<'de, StringRef>>,
}

/// Keeps the last member that has an error.
struct Members<'a, 'de>(&'a mut Option<Member<'de>>);

impl<'de> ListVisitor<'de> for Members<'_, 'de> {
    type Out = ();
    type Error = Infallible;

    fn entry(&mut self) -> Result<impl EntryVisitor<'de>, Infallible> {
        Ok(Entry(self.0))
    }

    fn finish(self) -> Result<(), Infallible> {
        Ok(())
    }
}

struct Entry<'a, 'de>(&'a mut Option<Member<'de>>);

impl<'de> EntryVisitor<'de> for Entry<'_, 'de> {
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'de>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'de>, Infallible> {
        Ok(Ignored)
    }
}

impl<'de> ItemVisitor<'de> for Entry<'_, 'de> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        _: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = ()>, Infallible> {
        Ok(Parameters { last: self.0, error: None, details: None })
    }
}

struct Parameters<'a, 'de> {
    last: &'a mut Option<Member<'de>>,
    error: Option<Cow<'de, str>>,
    details: Option<Cow<'de, StringRef>>,
}

impl<'de> ParameterVisitor<'de> for Parameters<'_, 'de> {
    type Out = ();
    type Error = Infallible;

    fn parameter(&mut self, key: &'de KeyRef, value: BareItemFromInput<'de>) -> Result<(), Infallible> {
        match (key.as_str(), value) {
            ("error", BareItemFromInput::Token(token)) => self.error = Some(Cow::Borrowed(token.as_str())),
            ("error", BareItemFromInput::String(text)) => {
                self.error = Some(Cow::Owned(text.as_str().to_owned()));
            }
            ("details", BareItemFromInput::String(text)) => self.details = Some(text),
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Infallible> {
        if let Some(error) = self.error {
            *self.last = Some(Member { error, details: self.details });
        }
        Ok(())
    }
}
