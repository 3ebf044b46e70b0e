//! What is wrong with a certificate, and the cure; and whether ours was refused. rustls writes at length, and names no cure.

use crate::outcome::{Phase, causes};
use rustls::CertificateError as Bad;
use std::error::Error;
use std::io;

/// What is wrong with the certificate that an error is about; `None` if something else failed.
pub(in crate::client) fn distrust(phase: Phase, cause: &(dyn Error + 'static)) -> Option<&'static str> {
    let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let found = match inner {
        Some(inner) => inner.downcast_ref(),
        None => cause.downcast_ref(),
    };
    let Some(rustls::Error::InvalidCertificate(why)) = found else { return None };
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

/// In TLS 1.3 a client has done its part before the other end has looked at its certificate: that it is refused, or missing,
/// comes in place of an answer (RFC 8446, 4.4.2.4). Nothing that was sent was read then.
pub(in crate::client) fn refuses_us(cause: &(dyn Error + 'static)) -> bool {
    use rustls::AlertDescription as Alert;
    let refused = |alert: &Alert| {
        matches!(
            alert,
            Alert::CertificateRequired
                | Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::UnknownCA
                | Alert::AccessDenied
        )
    };
    causes(cause)
        .filter_map(|cause| cause.downcast_ref())
        .any(|cause| matches!(cause, rustls::Error::AlertReceived(alert) if refused(alert)))
}
