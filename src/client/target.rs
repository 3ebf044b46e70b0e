//! What a request asks for, and the form it takes on each kind of way.

use super::error::unsendable;
use crate::body::Body;
use crate::exit::{Credential, Route};
use crate::outcome::Failure;
use http::header::{CONTENT_LENGTH, HOST, PROXY_AUTHORIZATION};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Method, Request, Uri, Version};
use rustls::pki_types::ServerName;
use std::net::Ipv6Addr;

/// The origin a request is for, as the wire names it, and what is asked of it.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) https: bool,
    /// `host[:port]`: lower case, without userinfo, without the scheme's own port.
    pub(super) authority: Authority,
    path: PathAndQuery,
    /// The caller's own `Host`, which may differ where the origin is spoken to itself.
    host: Option<HeaderValue>,
}

/// How a request gets to its origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// It is put to the exit, which asks the origin.
    Forward,
    /// It is put to the origin, through a stream that the exit made.
    Through,
}

impl Target {
    /// Reads a request, and takes from it what is not for the origin: extensions, a login of the caller's own for a proxy.
    ///
    /// # Errors
    /// The request cannot be sent: no absolute URI, another scheme than http or https, CONNECT, a port that is none, or a
    /// length that is not the body's.
    pub(super) fn of<B: http_body::Body>(request: &mut Request<B>) -> Result<Self, Failure> {
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
        let authority = normal(given, if https { 443 } else { 80 })?;
        let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        request.extensions_mut().clear();
        request.headers_mut().remove(PROXY_AUTHORIZATION);
        let host = request.headers_mut().remove(HOST);
        Ok(Self { https, authority, path, host })
    }

    pub(super) fn way(&self, route: &Route, tunnel_http: bool) -> Way {
        if !self.https && !tunnel_http && route.via().forwards() { Way::Forward } else { Way::Through }
    }

    /// The origin's name, or its address without brackets.
    pub(super) fn host(&self) -> &str {
        let host = self.authority.host();
        host.strip_prefix('[').and_then(|v6| v6.strip_suffix(']')).unwrap_or(host)
    }

    pub(super) fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(if self.https { 443 } else { 80 })
    }

    /// The name that the origin's certificate must have; `None` for http.
    pub(super) fn server_name(&self) -> Result<Option<ServerName<'static>>, Failure> {
        if !self.https {
            return Ok(None);
        }
        let name = ServerName::try_from(self.host().to_owned());
        name.map(Some).map_err(|_| unsendable("the URI's host is no name that a certificate can have"))
    }

    /// Gives the request the form that an HTTP/1.1 exit takes: absolute-form, with the exit's login.
    pub(super) fn for_exit(&self, request: &mut Request<Body>, route: &Route) -> Result<(), Failure> {
        let authority = self.authority.clone();
        let uri = Uri::builder().scheme(Scheme::HTTP).authority(authority).path_and_query(self.path.clone());
        *request.uri_mut() = uri.build().map_err(unsendable)?;
        // hyper writes 1.0 and 1.1 only and panics on what it does not know.
        *request.version_mut() = Version::HTTP_11;
        // RFC 9112, 3.2.2: in absolute-form, Host repeats the URI.
        request.headers_mut().insert(HOST, host_value(&self.authority)?);
        if let Some(login) = route.credential().and_then(Credential::basic) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, login.clone());
        }
        Ok(())
    }

    /// Gives the request the form that an HTTP/1.1 origin takes: origin-form, with no login for the exit.
    pub(super) fn for_origin(&self, request: &mut Request<Body>) -> Result<(), Failure> {
        let host = self.host.clone().map_or_else(|| host_value(&self.authority), Ok)?;
        request.headers_mut().insert(HOST, host);
        *request.uri_mut() = Uri::from(self.path.clone());
        *request.version_mut() = Version::HTTP_11;
        Ok(())
    }

    /// Gives the request the form that an HTTP/2 origin takes: its authority in the URI alone (RFC 9113, 8.3.1).
    pub(super) fn for_http2(&self, request: &mut Request<Body>) -> Result<(), Failure> {
        let own = self.host.as_ref().map(|host| Authority::try_from(host.as_bytes()));
        let authority = own.unwrap_or_else(|| Ok(self.authority.clone())).map_err(unsendable)?;
        let uri = Uri::builder().scheme(Scheme::HTTPS).authority(authority).path_and_query(self.path.clone());
        *request.uri_mut() = uri.build().map_err(unsendable)?;
        *request.version_mut() = Version::HTTP_2;
        request.headers_mut().remove(HOST);
        Ok(())
    }

    /// The request that asks an HTTP proxy for a tunnel. It has nothing of the caller's request.
    pub(super) fn connect(&self, route: &Route) -> Result<Request<Body>, Failure> {
        let tunnel = authority_of(format!("{}:{}", self.authority.host(), self.port()))?;
        let mut connect = Request::new(Body::empty());
        *connect.method_mut() = Method::CONNECT;
        connect.headers_mut().insert(HOST, host_value(&tunnel)?);
        *connect.uri_mut() = Uri::builder().authority(tunnel).build().map_err(unsendable)?;
        if let Some(login) = route.credential().and_then(Credential::basic) {
            connect.headers_mut().insert(PROXY_AUTHORIZATION, login.clone());
        }
        Ok(connect)
    }
}

/// The authority in the one form that stands for it: most are written so and cost nothing.
fn normal(given: &Authority, own_port: u16) -> Result<Authority, Failure> {
    let host = given.host();
    if host.is_empty() || host == "[]" {
        return Err(unsendable("the URI names no host"));
    }
    // SOCKS and the resolver take what is in the brackets, and a name that is in there would pass as another host.
    let v6 = host.strip_prefix('[').map(|host| host.strip_suffix(']').unwrap_or(host));
    if v6.is_some_and(|v6| v6.parse::<Ipv6Addr>().is_err()) {
        return Err(unsendable("the URI's host is in brackets but no IPv6 address"));
    }
    let port = port_of(given)?.filter(|port| *port != own_port);
    let bare = port.is_none() && host.len() == given.as_str().len();
    if (bare || port.is_some_and(|_| !given.as_str().contains('@')))
        && !host.bytes().any(|byte| byte.is_ascii_uppercase())
    {
        return Ok(given.clone());
    }
    let host = host.to_ascii_lowercase();
    authority_of(match port {
        Some(port) => format!("{host}:{port}"),
        None => host,
    })
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
    use super::{Target, Way};
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
        let target = Target::of(&mut request).unwrap();
        let connect = match target.way(exit.route(), false) {
            Way::Forward => {
                target.for_exit(&mut request, exit.route()).unwrap();
                None
            }
            Way::Through => {
                target.for_origin(&mut request).unwrap();
                Some(target.connect(exit.route()).unwrap())
            }
        };
        (request, connect)
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
        for uri in [
            "/path",
            "shop.example:443",
            "ftp://shop.example/",
            "http://shop.example:99999/",
            "http://[shop.example]/",
            "http://[::1%25lo]/",
        ] {
            let failure = Target::of(&mut request(uri)).err().expect(uri);
            assert_eq!((failure.phase(), failure.seen()), (Phase::Request, Seen::Never), "{uri}");
        }
        let mut connect = request("https://shop.example/");
        *connect.method_mut() = Method::CONNECT;
        assert!(Target::of(&mut connect).is_err());
    }

    #[test]
    fn http2_has_the_authority_in_the_uri_alone() {
        for (uri, own, line) in [
            ("https://me:secret@Shop.Example/p?q=1", None, "https://shop.example/p?q=1"),
            ("https://shop.example:8443/", None, "https://shop.example:8443/"),
            ("https://edge.example/", Some("shop.example"), "https://shop.example/"),
        ] {
            let mut request = request(uri);
            request.headers_mut().extend(own.map(|own| (HOST, own.parse().unwrap())));
            let target = Target::of(&mut request).unwrap();
            target.for_http2(&mut request).unwrap();
            assert_eq!((request.uri().to_string().as_str(), request.headers().get(HOST)), (line, None));
        }
    }

    #[test]
    fn one_form_stands_for_an_origin() {
        for (uri, authority, host, port) in [
            ("https://shop.example", "shop.example", "shop.example", 443),
            ("https://shop.example:", "shop.example", "shop.example", 443),
            ("https://SHOP.example:443", "shop.example", "shop.example", 443),
            ("https://shop.example:80", "shop.example:80", "shop.example", 80),
            ("http://me@shop.example:81", "shop.example:81", "shop.example", 81),
            ("http://me@shop.example", "shop.example", "shop.example", 80),
            ("http://[::1]:8080", "[::1]:8080", "::1", 8080),
        ] {
            let target = Target::of(&mut request(uri)).unwrap();
            assert_eq!((target.authority.as_str(), target.host(), target.port()), (authority, host, port));
        }
    }
}
