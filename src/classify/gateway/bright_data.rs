//! Bright Data, formerly Luminati. Its codes tell all, and override the status; the families are `client_`, `policy_`, `peer_`
//! and `target_`.

use super::signal::Says::{Busy, Denied, Exit, Failed, Fatal, Limited, Login, Session, Unreachable};
use super::signal::{Signal, code, phrase};
use crate::outcome::AuthReason::{Parameters, Quota, Rejected, Suspended};
use crate::outcome::GatewayScope::{Credential, Target};

/// `x-brd-err-code`, formerly `x-luminati-error-code`; of the search product `x-brd-error-code`. Also at the start of the
/// `details` of `Proxy-Status`.
pub(super) const CODES: &[Signal] = &[
    // The login's parameters: an address, a country, a city or a zone that there is not.
    code(&["client_10060", "client_10061", "client_10062", "client_10063"], Login(Parameters)),
    code(&["client_10090", "client_10130", "policy_20120", "policy_20230", "peer_30030"], Login(Parameters)),
    // The login.
    code(&["client_10000", "client_10001", "client_10010"], Login(Rejected)),
    code(&["client_10002", "client_10020", "client_10030", "client_10040", "client_10050"], Login(Suspended)),
    code(&["client_10100"], Login(Quota)),
    // The request.
    code(&["client_10070", "client_10080", "client_10140", "policy_20010"], Fatal),
    // How much at once.
    code(&["client_10110"], Busy(Credential)),
    code(&["policy_20220", "policy_20223", "sr_rate_limit"], Busy(Target)),
    code(&["policy_20222"], Limited),
    // The target, at this provider.
    code(&["client_10250", "client_10260"], Denied),
    code(&["policy_*"], Denied),
    // The target, as it is.
    code(&["target_40001", "target_40011"], Failed),
    code(&["target_40020", "target_40021"], Unreachable).before_arrival(),
    code(&["target_*"], Unreachable),
    // The exit.
    code(&["client_10120", "peer_*"], Exit),
    // A code of tomorrow on an answer that looks good and is empty.
    code(&["client_*"], Fatal).between(200, 299),
];

/// `x-brd-error`, formerly `x-luminati-error`.
pub(super) const TEXTS: &[Signal] =
    &[code(&["*Failed to establish connection with peer*"], Session).between(400, 599)];

/// The phrases of a refused CONNECT.
pub(super) const ROWS: &[Signal] = &[
    phrase(407, &["Request parameters * do not match zone permissions*"], Login(Parameters)),
    // A wrong password as well as a parameter that it does not know.
    phrase(407, &["Invalid Auth*"], Login(Rejected)),
    phrase(406, &["Proxy Error: server_error * TUN_ERR *"], Exit),
];

/// Stable codes in the JSON body of a refused CONNECT.
pub(super) const BODIES: &[Signal] =
    &[phrase(403, &["*\"kyc_required\"*", "*\"business_account_required\"*"], Login(Suspended))];
