//! What a request asks for, and how its head must read on the way through an exit.

use super::error::unsendable;
use crate::body::Body;
use crate::exit::{Credential, Route};
use crate::outcome::Failure;
use http::header::{CONTENT_LENGTH, HOST, PROXY_AUTHORIZATION};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Method, Request, Uri, Version};
use rustls::pki_types::ServerName;

/// The origin a request is for, as the wire names it.
pub(super) struct Target {
    /// `host[:port]`: lower case, without userinfo, without the scheme's own port.
    pub(super) authority: Authority,
    /// The name the origin's certificate must have; only for https.
    pub(super) tls: Option<ServerName<'static>>,
    /// `host:port`, for CONNECT.
    tunnel: Option<Authority>,
}

impl Target {
    /// Reads a request.
    ///
    /// # Errors
    /// The request cannot be sent: no absolute URI, another scheme than http or https, CONNECT, a name or port that the
    /// wire cannot carry, or a length that is not the body's.
    pub(super) fn of<B: http_body::Body>(request: &Request<B>) -> Result<Self, Failure> {
        if request.method() == Method::CONNECT {
            return Err(unsendable("CONNECT is the client's own: ask for an https:// URI instead"));
        }
        length_agrees(request)?;
        let uri = request.uri();
        let https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(_) => return Err(unsendable("the URI's scheme is neither http nor https")),
            None => return Err(unsendable("the URI is not absolute: write http://host/ or https://host/")),
        };
        let given = uri.authority().ok_or_else(|| unsendable("the URI names no host"))?;
        let host = given.host().to_ascii_lowercase();
        if host.is_empty() || host == "[]" {
            return Err(unsendable("the URI names no host"));
        }
        let own = if https { 443 } else { 80 };
        let port = port_of(given)?.unwrap_or(own);
        let authority = if port == own { Ok(host.clone()) } else { Err(format!("{host}:{port}")) };
        let authority = authority_of(authority.unwrap_or_else(|with_port| with_port))?;
        if !https {
            return Ok(Self { authority, tls: None, tunnel: None });
        }
        let bare = host.strip_prefix('[').and_then(|v6| v6.strip_suffix(']')).unwrap_or(&host);
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| unsendable("the URI's host is no name that a certificate can have"))?;
        Ok(Self { authority, tls: Some(name), tunnel: Some(authority_of(format!("{host}:{port}"))?) })
    }

    /// Turns the request's head into what goes to the exit: absolute-form with the exit's login for http, origin-form
    /// without any for https. A login of the caller's own never passes, and neither do extensions.
    pub(super) fn address(&self, request: &mut Request<Body>, route: &Route) -> Result<(), Failure> {
        request.extensions_mut().clear();
        // hyper writes 1.0 and 1.1 only and panics on what it does not know.
        *request.version_mut() = Version::HTTP_11;
        let path = request.uri().path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let host = host_value(&self.authority)?;
        request.headers_mut().remove(PROXY_AUTHORIZATION);
        if self.tls.is_some() {
            request.headers_mut().entry(HOST).or_insert(host);
            *request.uri_mut() = Uri::from(path);
            return Ok(());
        }
        // RFC 9112, 3.2.2: in absolute-form, Host repeats the URI.
        request.headers_mut().insert(HOST, host);
        if let Some(login) = route.credential().and_then(Credential::basic) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, login.clone());
        }
        let uri = Uri::builder().scheme(Scheme::HTTP).authority(self.authority.clone()).path_and_query(path);
        *request.uri_mut() = uri.build().map_err(unsendable)?;
        Ok(())
    }

    /// The request that asks the exit for a tunnel; `None` for http, which needs none.
    pub(super) fn connect(&self, route: &Route) -> Option<Result<Request<Body>, Failure>> {
        let tunnel = self.tunnel.as_ref()?;
        Some(host_value(tunnel).and_then(|host| {
            let uri = Uri::builder().authority(tunnel.clone()).build().map_err(unsendable)?;
            let mut connect = Request::new(Body::empty());
            *connect.method_mut() = Method::CONNECT;
            *connect.uri_mut() = uri;
            connect.headers_mut().insert(HOST, host);
            if let Some(login) = route.credential().and_then(Credential::basic) {
                connect.headers_mut().insert(PROXY_AUTHORIZATION, login.clone());
            }
            Ok(connect)
        }))
    }
}

/// A length that the body cannot have leaves the other side waiting for bytes, and the blame with the exit.
fn length_agrees<B: http_body::Body>(request: &Request<B>) -> Result<(), Failure> {
    let size = request.body().size_hint();
    for declared in request.headers().get_all(CONTENT_LENGTH) {
        let digits = declared.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(declared) = digits.and_then(|text| text.parse::<u64>().ok()) else {
            return Err(unsendable("the content-length header is not a number; leave it out"));
        };
        if declared < size.lower() || size.upper().is_some_and(|most| declared > most) {
            let has = match size.exact() {
                Some(exact) => format!("the body has {exact} bytes"),
                None if declared < size.lower() => format!("the body has at least {}", size.lower()),
                None => "the body ends sooner".to_owned(),
            };
            let why = format!("the content-length header says {declared}, but {has}; leave the header out");
            return Err(unsendable(why));
        }
    }
    Ok(())
}

/// The port as written. `Uri::port` hides one that is too large, and the request would go to the scheme's own.
fn port_of(authority: &Authority) -> Result<Option<u16>, Failure> {
    let address = authority.as_str().rsplit_once('@').map_or(authority.as_str(), |(_, address)| address);
    match address.strip_prefix(authority.host()).and_then(|rest| rest.strip_prefix(':')) {
        None | Some("") => Ok(None),
        Some(port) => port.parse().map(Some).map_err(|_| unsendable("the URI's port is not a port")),
    }
}

fn authority_of(text: String) -> Result<Authority, Failure> {
    Authority::try_from(text).map_err(unsendable)
}

fn host_value(authority: &Authority) -> Result<HeaderValue, Failure> {
    HeaderValue::try_from(authority.as_str()).map_err(unsendable)
}

#[cfg(test)]
mod tests {
    use super::Target;
    use crate::body::Body;
    use crate::exit::Exit;
    use crate::outcome::{Phase, Seen};
    use http::header::{HOST, PROXY_AUTHORIZATION};
    use http::{Method, Request, Version};

    fn request(uri: &str) -> Request<Body> {
        Request::get(uri).body(Body::empty()).unwrap()
    }

    fn addressed(uri: &str) -> (Request<Body>, Option<Request<Body>>) {
        let exit = Exit::parse("http://user:pw@127.0.0.1:1").unwrap();
        let mut request = request(uri);
        request.headers_mut().insert(PROXY_AUTHORIZATION, "Basic Y2FsbGVy".parse().unwrap());
        *request.version_mut() = Version::HTTP_3;
        let target = Target::of(&request).unwrap();
        target.address(&mut request, exit.route()).unwrap();
        (request, target.connect(exit.route()).transpose().unwrap())
    }

    #[test]
    fn http_is_absolute_form_with_the_login() {
        for (uri, line, host) in [
            ("http://Shop.Example", "http://shop.example/", "shop.example"),
            ("http://shop.example:80/p?q=1", "http://shop.example/p?q=1", "shop.example"),
            ("http://me:secret@shop.example:8080/", "http://shop.example:8080/", "shop.example:8080"),
            ("http://[::1]:8080/", "http://[::1]:8080/", "[::1]:8080"),
            ("http://shop.example:443/", "http://shop.example:443/", "shop.example:443"),
        ] {
            let (request, connect) = addressed(uri);
            assert_eq!(request.uri().to_string(), line);
            assert_eq!(request.headers()[HOST], host);
            assert_eq!(request.headers()[PROXY_AUTHORIZATION], "Basic dXNlcjpwdw==");
            assert!(request.headers()[PROXY_AUTHORIZATION].is_sensitive());
            assert_eq!(request.version(), Version::HTTP_11);
            assert!(connect.is_none());
        }
    }

    #[test]
    fn https_is_origin_form_without_a_login() {
        for (uri, line, host, tunnel) in [
            ("https://Shop.Example", "/", "shop.example", "shop.example:443"),
            ("https://shop.example:443/p?q=1", "/p?q=1", "shop.example", "shop.example:443"),
            ("https://me:secret@shop.example:80/", "/", "shop.example:80", "shop.example:80"),
            ("https://[::1]/", "/", "[::1]", "[::1]:443"),
        ] {
            let (request, connect) = addressed(uri);
            assert_eq!(request.uri().to_string(), line);
            assert_eq!(request.headers()[HOST], host);
            assert!(!request.headers().contains_key(PROXY_AUTHORIZATION));
            let connect = connect.unwrap();
            assert_eq!(connect.uri().to_string(), tunnel);
            assert_eq!(connect.headers()[HOST], tunnel);
            assert_eq!(connect.headers()[PROXY_AUTHORIZATION], "Basic dXNlcjpwdw==");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before_anything_is_dialled() {
        for uri in ["/path", "shop.example:443", "ftp://shop.example/", "http://shop.example:99999/"] {
            let failure = Target::of(&request(uri)).err().expect(uri);
            assert_eq!((failure.phase(), failure.seen()), (Phase::Request, Seen::Never), "{uri}");
        }
        let mut connect = request("https://shop.example/");
        *connect.method_mut() = Method::CONNECT;
        assert!(Target::of(&connect).is_err());
    }
}
