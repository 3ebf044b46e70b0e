//! Oxylabs. Its residential gateway says what happened in a header that is not there when the origin has answered; the others
//! have a status alone.

use super::signal::Says::{Busy, Denied, Exit, Failed, Fatal, Login, Session, Unreachable};
use super::signal::{Signal, code, connect, proxy};
use crate::outcome::AuthReason::{Parameters, Quota, Rejected};
use crate::outcome::GatewayScope::{Credential, Gateway, Place};

/// `x-error-description`: other services have a header of that name, so each text comes with its status.
pub(super) const DESCRIPTIONS: &[Signal] = &[
    code(&["*unsupported parameters*"], Login(Parameters)).with(400),
    code(&["*could not parse*", "*SOCKS version*", "*invalid HTTP request*"], Fatal).with(400),
    code(&["*restricted target*"], Denied).with(403),
    code(&["*traffic limit reached*"], Login(Quota)).with(407),
    code(&["*user authentication failed*"], Login(Rejected)).with(407),
    code(&["*internal error*"], Busy(Gateway)).with(500),
    code(&["*session failed*", "*exit node not found*", "*session ended*"], Session).with(502),
    code(&["*client disconnected*"], Fatal).with(502),
    code(&["*invalid response*", "error"], Exit).with(502),
    code(&["*target unreachable*"], Unreachable).with(504),
    code(&["*request timeout*"], Exit).with(504),
    code(&["*invalid response*"], Exit).with(522),
];

/// Dedicated datacenter exits and ISP exits.
pub(super) const DATACENTER: &[Signal] = &[
    proxy(407, Login(Rejected)),
    connect(403, Denied),
    connect(404, Failed),
    connect(429, Busy(Credential)),
    connect(500, Busy(Gateway)),
    connect(502, Exit),
    connect(503, Unreachable),
    connect(504, Unreachable),
];

/// Shared datacenter exits: a session's address comes back after about a minute, or another does.
pub(super) const SHARED: &[Signal] = &[connect(502, Session), connect(522, Exit), connect(525, Busy(Place))];
