//! Whose proxy an exit is: what its refusals mean depends on it.

/// A provider, or a proxy program, whose own signals are known. Found by the host of an exit, or said:
/// [`Pool::vendor`](super::Pool::vendor).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Vendor {
    /// anyIP.
    AnyIp,
    /// Apify Proxy, and what is built on proxy-chain.
    Apify,
    /// Bright Data, formerly Luminati.
    BrightData,
    /// Bytio.
    Bytio,
    /// DataImpulse.
    DataImpulse,
    /// Decodo, formerly Smartproxy.
    Decodo,
    /// Geonode.
    Geonode,
    /// Helodata.
    Helodata,
    /// IPRoyal.
    IpRoyal,
    /// A Luminati proxy manager of one's own.
    LuminatiManager,
    /// NetNut.
    NetNut,
    /// Nimble.
    Nimble,
    /// NodeMaven.
    NodeMaven,
    /// Oxylabs' residential and mobile exits.
    Oxylabs,
    /// Oxylabs' dedicated datacenter exits and ISP exits.
    OxylabsDatacenter,
    /// Oxylabs' shared datacenter exits.
    OxylabsShared,
    /// proxies.fo.
    ProxiesFo,
    /// ScraperAPI.
    ScraperApi,
    /// SOAX.
    Soax,
    /// squid.
    Squid,
    /// Thordata.
    Thordata,
    /// 3proxy.
    ThreeProxy,
    /// tinyproxy.
    Tinyproxy,
    /// Tor.
    Tor,
    /// Webshare.
    Webshare,
    /// Zyte Smart Proxy Manager, formerly Crawlera, and Zyte API.
    Zyte,
}

/// The last two labels of a host, and whose they are. Oxylabs is told apart below.
const HOSTS: &[(&str, Vendor)] = &[
    ("anyip.io", Vendor::AnyIp),
    ("apify.com", Vendor::Apify),
    ("bytio.com", Vendor::Bytio),
    ("crawlera.com", Vendor::Zyte),
    ("dataimpulse.com", Vendor::DataImpulse),
    ("decodo.com", Vendor::Decodo),
    ("geonode.com", Vendor::Geonode),
    ("geonode.io", Vendor::Geonode),
    ("helodata.com", Vendor::Helodata),
    ("iproyal.com", Vendor::IpRoyal),
    ("lum-superproxy.io", Vendor::BrightData),
    ("netnut.net", Vendor::NetNut),
    ("nimbleway.com", Vendor::Nimble),
    ("nodemaven.com", Vendor::NodeMaven),
    ("proxies.fo", Vendor::ProxiesFo),
    ("scraperapi.com", Vendor::ScraperApi),
    // Decodo's old name. smartproxy.net is somebody else.
    ("smartproxy.com", Vendor::Decodo),
    ("soax.com", Vendor::Soax),
    ("superproxy.io", Vendor::BrightData),
    ("thordata.com", Vendor::Thordata),
    ("thordata.net", Vendor::Thordata),
    ("webshare.io", Vendor::Webshare),
    ("zyte.com", Vendor::Zyte),
];

impl Vendor {
    /// Whose gateway that host is, if it is a known one's. Case does not matter.
    ///
    /// ```
    /// use tower_egress::exit::Vendor;
    ///
    /// assert_eq!(Vendor::of_host("gate.smartproxy.com"), Some(Vendor::Decodo));
    /// assert_eq!(Vendor::of_host("proxy.smartproxy.net"), None);
    /// ```
    #[must_use]
    pub fn of_host(host: &str) -> Option<Self> {
        let host = host.strip_suffix('.').unwrap_or(host);
        // An address: lists are full of them.
        if host.ends_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let dot = host.rfind('.')?;
        let sub = host[..dot].rfind('.');
        let domain = &host[sub.map_or(0, |at| at + 1)..];
        if domain.eq_ignore_ascii_case("oxylabs.io") {
            return oxylabs(&host[..sub?]);
        }
        HOSTS.iter().find(|(known, _)| domain.eq_ignore_ascii_case(known)).map(|(_, vendor)| *vendor)
    }
}

/// By what stands before `oxylabs.io`: `pr` and `us-pr` are residential and mobile exits, `dc.pr` and `dc.us-pr` shared
/// datacenter ones, `dc`, `ddc`, `isp` and `disp` the others (developers.oxylabs.io, quick start of proxies).
fn oxylabs(sub: &str) -> Option<Vendor> {
    let pr = |sub: &str| {
        sub.eq_ignore_ascii_case("pr")
            || sub.get(sub.len().wrapping_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("-pr"))
    };
    if ["dc", "ddc", "isp", "disp"].iter().any(|known| sub.eq_ignore_ascii_case(known)) {
        return Some(Vendor::OxylabsDatacenter);
    }
    match sub.split_once('.') {
        None => pr(sub).then_some(Vendor::Oxylabs),
        Some((first, rest)) => {
            (first.eq_ignore_ascii_case("dc") && pr(rest)).then_some(Vendor::OxylabsShared)
        }
    }
}

#[test]
fn a_host_says_whose_it_is() {
    for (host, vendor) in [
        ("brd.superproxy.io", Some(Vendor::BrightData)),
        ("zproxy.lum-superproxy.io", Some(Vendor::BrightData)),
        ("BRD.SuperProxy.io.", Some(Vendor::BrightData)),
        ("superproxy.io.evil.test", None),
        ("notsuperproxy.io", None),
        ("gate.smartproxy.com", Some(Vendor::Decodo)),
        ("us.smartproxy.com", Some(Vendor::Decodo)),
        ("gate.decodo.com", Some(Vendor::Decodo)),
        ("proxy.smartproxy.net", None),
        ("pr.oxylabs.io", Some(Vendor::Oxylabs)),
        ("us-pr.oxylabs.io", Some(Vendor::Oxylabs)),
        ("dc.pr.oxylabs.io", Some(Vendor::OxylabsShared)),
        ("dc.de-pr.oxylabs.io", Some(Vendor::OxylabsShared)),
        ("dc.oxylabs.io", Some(Vendor::OxylabsDatacenter)),
        ("ddc.oxylabs.io", Some(Vendor::OxylabsDatacenter)),
        ("isp.oxylabs.io", Some(Vendor::OxylabsDatacenter)),
        ("oxylabs.io", None),
        ("developers.oxylabs.io", None),
        ("r.oxylabs.io", None),
        ("proxy.crawlera.com", Some(Vendor::Zyte)),
        ("acme.pr.thordata.net", Some(Vendor::Thordata)),
        ("p.webshare.io", Some(Vendor::Webshare)),
        ("203.0.113.7", None),
        ("2001:db8::abcd", None),
        ("localhost", None),
        ("", None),
    ] {
        assert_eq!(Vendor::of_host(host), vendor, "{host}");
    }
}
