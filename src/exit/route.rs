//! What the client needs to dial an exit.

use super::{Credential, ExitId};
use std::fmt;
use std::sync::Arc;

/// How an exit is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Via {
    /// An HTTP proxy: absolute-form requests for `http://`, CONNECT for `https://`.
    Http,
}

impl Via {
    /// The scheme of a proxy spec.
    #[must_use]
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Http => "http",
        }
    }
}

/// The way out of one request: an exit's address and login. The lease layer puts it into the request's extensions, where
/// [`ExitClient`](crate::client::ExitClient) and any service of your own find it. A clone is a reference count.
#[derive(Clone, PartialEq, Eq)]
pub struct Route(Arc<Inner>);

#[derive(PartialEq, Eq)]
struct Inner {
    exit: ExitId,
    via: Via,
    host: Box<str>,
    port: u16,
    credential: Option<Credential>,
    fresh: bool,
}

impl Route {
    pub(super) fn new(
        exit: ExitId,
        via: Via,
        host: &str,
        port: u16,
        credential: Option<Credential>,
        fresh: bool,
    ) -> Self {
        Self(Arc::new(Inner { exit, via, host: host.into(), port, credential, fresh }))
    }

    /// The exit this leads through.
    #[must_use]
    pub fn exit(&self) -> ExitId {
        self.0.exit
    }

    /// The proxy protocol.
    #[must_use]
    pub fn via(&self) -> Via {
        self.0.via
    }

    /// The proxy's host: a name in lower case, or an IP literal without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// The proxy's port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// The proxy's URL without its login, as clients of other crates take it.
    ///
    /// ```
    /// let exit = tower_egress::Exit::parse("http://user:secret@[2001:db8::7]:8080")?;
    /// assert_eq!(exit.route().url(), "http://[2001:db8::7]:8080");
    /// # Ok::<(), tower_egress::ConfigError>(())
    /// ```
    #[must_use]
    pub fn url(&self) -> String {
        let (scheme, host, port) = (self.via().scheme(), self.host(), self.port());
        // No name has a colon in it.
        if host.contains(':') {
            format!("{scheme}://[{host}]:{port}")
        } else {
            format!("{scheme}://{host}:{port}")
        }
    }

    /// Whether each connection leaves through another address, so that none may be used again.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.0.fresh
    }

    /// The same way out, over a connection of its own.
    #[cold]
    pub(crate) fn freshly(&self) -> Self {
        let Inner { exit, via, host, port, credential, .. } = &*self.0;
        Self::new(*exit, *via, host, *port, credential.clone(), true)
    }

    /// The login, if the exit has one.
    #[must_use]
    pub fn credential(&self) -> Option<&Credential> {
        self.0.credential.as_ref()
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { exit, via, host, port, credential, .. } = &*self.0;
        let address = format_args!("{}://{host}:{port}", via.scheme());
        f.debug_struct("Route")
            .field("exit", exit)
            .field("address", &address)
            .field("credential", credential)
            .finish()
    }
}
