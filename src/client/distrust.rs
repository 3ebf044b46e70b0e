//! What is wrong with a certificate, and the cure; and whether ours was refused. rustls writes at length, and names no cure.

use crate::exit::{Route, Via};
use crate::outcome::{Failure, Phase, Seen, causes};
use rustls::{AlertDescription as Alert, CertificateError as Bad};
use std::error::Error;
use std::io;

/// What is wrong with the certificate that an error is about; `None` if something else failed.
pub(super) fn distrust(phase: Phase, cause: &(dyn Error + 'static)) -> Option<&'static str> {
    let Some(rustls::Error::InvalidCertificate(why)) = of_tls(cause) else { return None };
    Some(match why {
        Bad::Expired | Bad::ExpiredContext { .. } => {
            "the certificate has expired; if it has not, set this machine's clock"
        }
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
            "the certificate is not valid yet; if it is, set this machine's clock"
        }
        Bad::NotValidForName | Bad::NotValidForNameContext { .. } if phase == Phase::ExitTls => {
            "the certificate is for another name; if the proxy is given by its address, say its name by \
             ProxyTls::server_name"
        }
        Bad::NotValidForName | Bad::NotValidForNameContext { .. } => "the certificate is for another name",
        Bad::Revoked => "the certificate is revoked",
        _ if phase == Phase::ExitTls => {
            "the certificate is not trusted; if the proxy's authority is its own, give its root to ProxyTls::roots_pem"
        }
        _ => {
            "the certificate is not trusted; if its authority is your own, give its root to \
             ExitClientBuilder::roots_pem"
        }
    })
}

/// The failure of whom an `https://` exit does not let in by its certificate, or without one. In TLS 1.3 it says so when the
/// handshake is over here, and has not looked at what was sent meanwhile.
pub(super) fn not_let_in(route: &Route, cause: &(dyn Error + 'static)) -> Option<Failure> {
    let refused = causes(cause).filter_map(of_tls).any(|error| {
        matches!(
            error,
            rustls::Error::AlertReceived(
                Alert::CertificateRequired
                    | Alert::BadCertificate
                    | Alert::UnsupportedCertificate
                    | Alert::CertificateRevoked
                    | Alert::CertificateExpired
                    | Alert::CertificateUnknown
                    | Alert::UnknownCA
                    | Alert::DecryptError
                    | Alert::AccessDenied
            )
        )
    });
    (refused && route.via() == Via::Https).then(|| {
        let why = format!(
            "the proxy refuses this client's certificate, or wants one; give it by ProxyTls::identity_pem: {}",
            causes(cause).last().unwrap_or(cause)
        );
        Failure::new(Phase::ExitTls, Seen::Never).because(why)
    })
}

/// What rustls says, inside of what tokio-rustls makes of it.
fn of_tls<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => inner.downcast_ref(),
        None => cause.downcast_ref(),
    }
}
