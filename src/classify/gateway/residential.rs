//! Gateways of residential and mixed exits, in the order of the alphabet.

use super::signal::Says::{Busy, Denied, Exit, Fatal, Login, Session, Unreachable};
use super::signal::{On, Signal, code, connect, phrase, proxy};
use crate::outcome::AuthReason::{Parameters, Quota, Rejected, Suspended};
use crate::outcome::GatewayScope::{Credential, Gateway, Place};

/// All that is wrong with a user name comes as 407 with a code of its own; whether that is the phrase or stands in the body is
/// not documented, so both are looked at.
pub(super) const ANY_IP: &[Signal] =
    &[phrase(407, &["*bad_attributes_*", "*region_country_is_missing*"], Login(Parameters))];

/// `bytio-error`: that it is there says who speaks, the status says what.
pub(super) const BYTIO: &[Signal] = &[
    code(&["*"], Login(Parameters)).with(400),
    code(&["*"], Login(Quota)).with(402),
    code(&["*"], Login(Suspended)).with(403),
    code(&["*"], Session).with(404),
    code(&["*"], Login(Rejected)).with(407),
    code(&["*"], Busy(Credential)).with(429),
];

/// Says so of names that do not resolve as well.
pub(super) const DATA_IMPULSE: &[Signal] = &[phrase(502, &["NO_HOST_CONNECTION*"], Unreachable)];

pub(super) const DECODO: &[Signal] = &[connect(400, Login(Parameters))];

pub(super) const GEONODE: &[Signal] = &[
    connect(403, Denied),
    proxy(407, Login(Rejected)),
    connect(429, Busy(Credential)),
    proxy(466, Login(Quota)),
];

/// `x-helodata-error-code`.
pub(super) const HELODATA: &[Signal] = &[
    code(
        &["bad-username", "unknown-region", "session-incomplete", "sesstime-out-of-range"],
        Login(Parameters),
    ),
    code(&["unknown-subuser", "auth-failed"], Login(Rejected)),
    code(&["restricted-category-*"], Denied),
    code(&["account-suspended", "kyc-required"], Login(Suspended)),
    // A static address was withdrawn.
    code(&["ip-released"], Exit).before_arrival(),
];

pub(super) const IP_ROYAL: &[Signal] =
    &[connect(500, Busy(Gateway)), connect(503, Busy(Place)), connect(504, Exit)];

pub(super) const NET_NUT: &[Signal] = &[
    connect(400, Fatal),
    connect(403, Denied),
    proxy(407, Login(Rejected)),
    // An access point that there is not, or no address in the country.
    proxy(490, Login(Parameters)),
    connect(500, Busy(Gateway)),
    connect(502, Session),
    connect(503, Unreachable),
    connect(522, Exit),
];

pub(super) const NODE_MAVEN: &[Signal] = &[
    connect(406, Login(Parameters)),
    // A wrong password as well as most wrong parameters.
    connect(407, Login(Rejected)),
    connect(410, Login(Parameters)),
    connect(500, Login(Parameters)),
];

pub(super) const PROXIES_FO: &[Signal] = &[
    proxy(452, Login(Quota)),
    proxy(453, Busy(Credential)),
    proxy(454, Login(Parameters)),
    proxy(455, Login(Parameters)),
    connect(417, Fatal),
    connect(502, Unreachable),
];

/// `x-soax-error`; `x-soax-detail` has the text. What it calls a node's faults is not confirmed, so all of them are one row.
pub(super) const SOAX: &[Signal] = &[
    code(&["ERR_INVALID_VALUE", "ERR_MISSING_PARAMS", "ERR_UNKNOWN_PARAM"], Login(Parameters)),
    code(&["ERR_DUPLICATE_PARAM", "ERR_INVALID_COMBINATION", "ERR_PARAM_NOT_ALLOWED"], Login(Parameters)),
    code(&["ERR_AUTH_REQUIRED", "AUTH_FAILED"], Login(Rejected)),
    code(&["*"], Exit).between(500, 599),
];

/// `x-thor-error-code`.
pub(super) const THORDATA: &[Signal] = &[
    // The region, the protocol.
    code(&["client_101", "client_102", "Resource_202"], Login(Parameters)),
    // The port, the host: the target's, as far as is known.
    code(&["client_103", "client_104"], Fatal),
    code(&["Resource_201"], Exit).before_arrival(),
    code(&["Resource_203"], Unreachable),
];

/// `x-webshare-reason`, and the two other spellings of it.
pub(super) const WEBSHARE: &[Signal] = &[
    code(&["client_connect_forbidden_host"], Denied),
    // The gateway cannot ask whether the login is right.
    code(&["internal_error_auth_circuit_breaker_open"], Busy(Gateway)),
    code(&["402"], Login(Quota)),
    code(&["*"], Login(Quota)).with(402),
    code(&["*"], Login(Rejected)).with(407).only(On::PROXY),
];
