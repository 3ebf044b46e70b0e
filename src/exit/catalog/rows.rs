//! The rows, as of October 2026. `{user}` and `{pass}` are what `Gateway::login` gives, whatever the provider calls them.
//! Times are in seconds. How a row is added stands in the module above,
//! what its words mean in `row.rs`.

use super::provider::Chars::{Alnum, Any, Digits, Hex, Lower, Unreserved, Word};
use super::provider::Confidence::{High, Low, Medium};
use super::provider::OnLoss::{NewExit, Refuses};
use super::provider::Provider;
use super::provider::Spelling::{AfterCountry, Joined, Plussed, Underscored};
use super::row::row;
use crate::exit::Vendor;
use crate::exit::Via::{Https, Socks5h};

const SAMPLES: &str = "public code samples";

pub(super) const ROWS: &[Provider] = &[
    row("922proxy", "922 Proxy", "residential")
        .login(
            "{user}-zone-custom[-region-{COUNTRY}][-city-{city}]-sessid-{session}[-sesstime-{ttl_min}]",
            "{pass}",
        )
        .at("us.922s5.net", 6300)
        .token(Alnum, 8, 8)
        .lives(900, 7_200)
        .loses(NewExit)
        .source_is(Medium, "doc.922proxy.com session-control; public code samples")
        .noting("also at sg and de; 8 characters are what samples show"),
    row("abcproxy", "ABCProxy", "residential")
        .login(
            "{user}-zone-{zone}[-region-{COUNTRY}]-session-{session}-sessTime-{ttl_min}",
            "{pass}",
        )
        .at("{region}.{id}.abcproxy.vip", 4950)
        .token(Alnum, 9, 9)
        .source_is(Medium, SAMPLES)
        .noting("zone is abc, star or custom; region na, eu or as; id 16 hexadecimal digits of the account"),
    row("anyip", "anyIP", "residential, mobile")
        .login(
            "user_{user},type_residential[,country_{COUNTRY}][,region_{state}],session_{session}",
            "{pass}",
        )
        .at_given("{host}")
        .token(Alnum, 1, 32)
        .in_country()
        .vendor_is(Vendor::AnyIp)
        .source_is(Medium, "anyip.io/docs/guides/errors-reference")
        .noting("host and port are on the account's page; every mistake of grammar is a 407"),
    row("apify", "Apify Proxy", "residential")
        .login("groups-RESIDENTIAL,session-{session}[,country-{COUNTRY}]", "{pass}")
        .at("proxy.apify.com", 8000)
        .token(Unreserved, 1, 50)
        .lives(60, 0)
        .idle(60)
        .kept_by_use()
        .loses(NewExit)
        .vendor_is(Vendor::Apify)
        .source_is(High, "docs.apify.com/platform/proxy")
        .noting("has no user name: login(\"\", password); fails where a country has no exit"),
    row("apify-datacenter", "Apify Proxy", "datacenter")
        .login("groups-{group},session-{session}[,country-{COUNTRY}]", "{pass}")
        .at("proxy.apify.com", 8000)
        .token(Unreserved, 1, 50)
        .lives(93_600, 93_600)
        .vendor_is(Vendor::Apify)
        .source_is(High, "docs.apify.com/platform/proxy")
        .noting("has no user name: login(\"\", password)"),
    row("brightdata", "Bright Data", "residential, mobile, ISP, datacenter; sticky")
        .login(
            "brd-customer-{user}-zone-{zone}[-country-{country}][-state-{state}][-city-{city}]-session-{session}",
            "{pass}",
        )
        .at("brd.superproxy.io", 44_445)
        .also(&[(Socks5h, 22_228)])
        .token(Alnum, 1, 0)
        .lives(420, 0)
        .idle(420)
        .kept_by_use()
        .places(Joined, Joined)
        .in_country()
        .loses(NewExit)
        .vendor_is(Vendor::BrightData)
        .source_is(
            High,
            "docs.brightdata.com/api-reference/proxy/rotate_ips, docs.brightdata.com/proxy-networks/errorCatalog; measured by \
             nodemaven/proxy-benchmark, September 2026; 420 s idle by integration notes (medium)",
        )
        .noting("the ports 22225 and 33335 went with their certificates in September 2026"),
    row("brightdata-strict", "Bright Data", "strict sticky: a lost exit is a 502")
        .login(
            "brd-customer-{user}-zone-{zone}[-country-{country}][-state-{state}][-city-{city}]-session-{session}-const",
            "{pass}",
        )
        .at("brd.superproxy.io", 44_445)
        .also(&[(Socks5h, 22_228)])
        .token(Alnum, 1, 0)
        .lives(420, 0)
        .idle(420)
        .kept_by_use()
        .places(Joined, Joined)
        .in_country()
        .loses(Refuses)
        .vendor_is(Vendor::BrightData)
        .source_is(High, "docs.brightdata.com/api-reference/proxy/keep_same_peer_in_session"),
    row("dataimpulse", "DataImpulse", "residential")
        .login(
            "{user}__[cr.{country};][state.{state};][city.{city};]sessid.{session};sessttl.{ttl_min}",
            "{pass}",
        )
        .at("gw.dataimpulse.com", 823)
        .also(&[(Socks5h, 824)])
        .token(Alnum, 1, 0)
        .vendor_is(Vendor::DataImpulse)
        .source_is(Medium, SAMPLES),
    row("decodo", "Decodo, formerly Smartproxy", "residential, mobile; sticky")
        .login(
            "user-{user}[-country-{country}][-state-{state}][-city-{city}]-session-{session}[-sessionduration-{ttl_min}]",
            "{pass}",
        )
        .at("gate.decodo.com", 7000)
        .also(&[(Socks5h, 7000)])
        .token(Alnum, 1, 0)
        .lives(600, 86_400)
        .at_least(60)
        .places(AfterCountry, Underscored)
        .loses(NewExit)
        .vendor_is(Vendor::Decodo)
        .source_is(
            High,
            "help.decodo.com/docs/residential-proxy-custom-sticky-sessions, residential-proxy-session-types; measured by \
             nodemaven/proxy-benchmark, September 2026",
        )
        .noting("a token that is bound keeps its exit whatever country is asked for later"),
    row("decodo-port", "Decodo, formerly Smartproxy", "residential; sticky by port")
        .login("user-{user}", "{pass}")
        .at_ports("gate.decodo.com", 10_001, 49_999)
        .lives(600, 86_400)
        .loses(NewExit)
        .vendor_is(Vendor::Decodo)
        .source_is(
            Medium,
            "help.decodo.com/docs/residential-proxy-session-types; the last port by public code samples",
        )
        .noting("some plans have ten ports only: write the template with theirs"),
    row("evomi", "Evomi", "residential")
        .login("{user}", "{pass}[_country-{COUNTRY}]_session-{session}[_lifetime-{ttl_min}]")
        .at("core-residential.evomi.com", 1000)
        .token(Alnum, 6, 10)
        .lives(2_400, 7_200)
        .loses(NewExit)
        .source_is(
            Medium,
            "docs.evomi.com residential-proxies/proxy-sessions; public code samples; lifetimes by a white label (low)",
        )
        .noting("also at rp.evomi.com"),
    row("geonode", "Geonode", "residential")
        .login("{user}[-country-{country}]-session-{session}[-lifetime-{ttl_min}]", "{pass}")
        .at("proxy.geonode.io", 10_000)
        .token(Word, 1, 25)
        .lives(600, 86_400)
        .at_least(180)
        .loses(NewExit)
        .vendor_is(Vendor::Geonode)
        .source_is(High, "docs.geonode.com/docs/api-reference/sticky-session"),
    row("goproxy", "GoProxy", "residential")
        .login("customer-{user}[-region-{country}]-session-{session}-time-{ttl_min}", "{pass}")
        .at("proxy.goproxy.com", 30_000)
        .also(&[(Socks5h, 30_000)])
        .token(Lower, 1, 0)
        .source_is(Low, SAMPLES),
    row("infatica", "Infatica", "residential")
        .login("{user}[_c_{COUNTRY}]_s_{session}_ttl_{ttl}", "{pass}")
        .at("pool.infatica.io", 10_000)
        .token(Alnum, 1, 0)
        .source_is(Medium, SAMPLES)
        .noting("the ports to 10999 are slots of their own; one is enough, since the token tells the session"),
    row("iproyal", "IPRoyal", "residential; sticky")
        .login(
            "{user}",
            "{pass}[_country-{country}][_state-{state}][_city-{city}]_session-{session}_lifetime-{ttl}",
        )
        .at("geo.iproyal.com", 12_321)
        .token(Alnum, 8, 8)
        .lives(0, 604_800)
        .at_least(1)
        .in_seconds()
        .loses(NewExit)
        .vendor_is(Vendor::IpRoyal)
        .source_is(High, "docs.iproyal.com/proxies/residential/proxy/rotation; public code samples")
        .noting("SOCKS5 has a port of its own"),
    row("lunaproxy", "LunaProxy", "residential")
        .login(
            "user-{user}[-region-{country}][-st-{state}][-city-{city}]-sessid-{session}-sesstime-{ttl_min}",
            "{pass}",
        )
        .at("pr.lunaproxy.com", 12_233)
        .token(Alnum, 1, 0)
        .source_is(Low, "public code samples; the session's keys by analogy"),
    row("massive", "Massive", "residential")
        .login(
            "{user}[-country-{COUNTRY}][-subdivision-{state}][-city-{city}]-session-{session}[-sessionttl-{ttl_min}]\
             -sessionmode-strict",
            "{pass}",
        )
        .at("network.joinmassive.com", 65_534)
        .also(&[(Https, 65_535), (Socks5h, 65_533)])
        .token(Any, 1, 255)
        .lives(900, 14_400)
        .loses(NewExit)
        .source_is(High, "docs.joinmassive.com/residential/sticky-sessions")
        .noting("the password is the API key; older pages say 60 minutes at most"),
    row("netnut", "NetNut", "residential")
        .login("{user}-res-{country}-sid-{session}", "{pass}")
        .at("gw.netnut.net", 5959)
        .token(Digits, 1, 8)
        .lives(0, 1_800)
        .says_uk()
        .says_any()
        .loses(Refuses)
        .vendor_is(Vendor::NetNut)
        .source_is(High, "help.netnut.io residential-proxies/initial-setup, curl request parameters, error-messages")
        .noting("wants a country, or `any`; refuses until the session has another exit"),
    row("nimble", "Nimble", "residential")
        .login(
            "account-{user}-pipeline-{pipeline}[-country-{COUNTRY}]-session-{session}",
            "{pass}",
        )
        .at("ip.nimbleway.com", 7000)
        .token(Alnum, 1, 0)
        .vendor_is(Vendor::Nimble)
        .source_is(Medium, "docs.nimbleway.com response-codes")
        .noting("has states in the US and Canada, and cities"),
    row("nodemaven", "NodeMaven", "residential, mobile")
        .login(
            "{user}[-country-{country}][-region-{state}][-city-{city}]-sid-{session}-ttl-{ttl}-filter-medium",
            "{pass}",
        )
        .at("gate.nodemaven.com", 8080)
        .also(&[(Socks5h, 1080)])
        .token(Hex, 1, 0)
        .lives(0, 86_400)
        .places(Underscored, Underscored)
        .city_in_state()
        .loses(NewExit)
        .vendor_is(Vendor::NodeMaven)
        .source_is(
            High,
            "nodemaven/nodemaven-rust nodemaven.toml (measured); nodemaven/nodemaven-python changelog",
        )
        .noting("whatever parameter changes makes another session; an empty one hangs for 20 s"),
    row("oxylabs", "Oxylabs", "residential, mobile; sticky")
        .login(
            "customer-{user}[-cc-{COUNTRY}][-st-{state}][-city-{city}]-sessid-{session}[-sesstime-{ttl_min}]",
            "{pass}",
        )
        .at("pr.oxylabs.io", 7777)
        .also(&[(Https, 7777), (Socks5h, 7777)])
        .token(Alnum, 1, 0)
        .lives(600, 86_400)
        .idle(60)
        .places(AfterCountry, Underscored)
        .in_country()
        .loses(NewExit)
        .vendor_is(Vendor::Oxylabs)
        .source_is(
            High,
            "developers.oxylabs.io residential-proxies/session-control; measured by nodemaven/proxy-benchmark, September 2026",
        )
        .noting("a token that is bound keeps its exit whatever country is asked for later; what it does not know it ignores"),
    row("oxylabs-port", "Oxylabs", "residential; sticky by port")
        .login("customer-{user}", "{pass}")
        .at_ports("pr.oxylabs.io", 10_000, 49_999)
        .lives(600, 600)
        .loses(NewExit)
        .vendor_is(Vendor::Oxylabs)
        .source_is(High, "developers.oxylabs.io residential-proxies/session-control")
        .noting("a country is another host with other ports (us-pr.oxylabs.io:10001-19999): write the template"),
    row("oxylabs-strict", "Oxylabs", "residential; strict: a lost exit is a 502")
        .login(
            "customer-{user}[-cc-{COUNTRY}][-st-{state}][-city-{city}]-sessid_oneip-{session}-sesstime-{ttl_min}",
            "{pass}",
        )
        .at("pr.oxylabs.io", 7777)
        .token(Alnum, 1, 0)
        .lives(0, 86_400)
        .places(AfterCountry, Underscored)
        .in_country()
        .loses(Refuses)
        .vendor_is(Vendor::Oxylabs)
        .source_is(Medium, "developers.oxylabs.io residential-proxies/session-control")
        .noting("how the key is spelt in the user name is not confirmed"),
    row("packetstream", "PacketStream", "residential")
        .login("{user}", "{pass}[_country-{CountryName}]_session-{session}")
        .at("proxy.packetstream.io", 31_112)
        .also(&[(Socks5h, 31_113)])
        .token(Alnum, 8, 8)
        .loses(NewExit)
        .source_is(Medium, SAMPLES)
        .noting("resellers have the same grammar at hosts of their own"),
    row("proxyempire", "ProxyEmpire", "rotating residential")
        .login("{user}[-country-{country}][-region-{state}][-city-{city}]-sid-{session}-ttl-{ttl}", "{pass}")
        .at("v2.proxyempire.io", 5000)
        .token(Lower, 8, 8)
        .source_is(Medium, SAMPLES)
        .noting("8 characters are what samples show"),
    row("proxymesh", "ProxyMesh", "static pool")
        .login("{user}", "{pass}")
        .at("{location}.proxymesh.com", 31_280)
        .source_is(Low, "public code samples; hearsay")
        .noting("each connection is another exit; the answer to CONNECT names it"),
    row("proxyseller", "Proxy-Seller", "residential")
        .login("{user}[_c_{COUNTRY}][_city_{city}]_s_{session}_ttl_{ttl}", "{pass}")
        .at("us.res.proxy-seller.com", 10_000)
        .token(Alnum, 1, 0)
        .idle(3_600)
        .source_is(Medium, "integration notes, October 2026; public code samples")
        .noting("writes cities like `New-York`; the ports to 10999 are slots of their own"),
    row("rayobyte", "Rayobyte", "residential")
        .login("{user}", "{pass}-session-{session}[-country-{country}][-city-{city}]")
        .at("la.residential.rayobyte.com", 8000)
        .also(&[(Socks5h, 1080)])
        .token(Alnum, 1, 0)
        .source_is(Low, SAMPLES)
        .noting("the user name is the mail address with `_` for `@` and `.`; -dc or -isp behind it is another product"),
    row("scraperapi", "ScraperAPI", "proxy port")
        .login("scraperapi.session_number={session}[.country_code={country}]", "{pass}")
        .at("proxy-server.scraperapi.com", 8001)
        .token(Digits, 1, 0)
        .lives(900, 0)
        .idle(900)
        .kept_by_use()
        .vendor_is(Vendor::ScraperApi)
        .source_is(High, "docs.scraperapi.com sessions, api-status-codes")
        .noting("has no user name: login(\"\", key); ends TLS itself; an answer may take 70 s"),
    row("scrapingbee", "ScrapingBee", "proxy mode")
        .login("{user}", "render_js=False[&country_code={country}]&session_id={session}")
        .at("proxy.scrapingbee.com", 8886)
        .also(&[(Https, 8887)])
        .token(Digits, 1, 0)
        .source_is(Medium, SAMPLES)
        .noting("the user name is the API key: login(key, \"\"); ends TLS itself"),
    row("smartproxy-net", "smartproxy.net, who are not Decodo", "residential")
        .login(
            "smart-{user}[_area-{COUNTRY}][_state-{state}][_city-{city}]_life-{ttl_min}_session-{session}",
            "{pass}",
        )
        .at("proxy.smartproxy.net", 3120)
        .token(Alnum, 1, 0)
        .source_is(Low, SAMPLES)
        .noting("writes cities like `LosAngeles`"),
    row("soax", "SOAX", "package; sticky")
        .login(
            "package-{user}[-country-{country}][-region-{state}][-city-{city}]-sessionid-{session}[-sessionlength-{ttl_s}]",
            "{pass}",
        )
        .at("proxy.soax.com", 5000)
        .token(Alnum, 1, 0)
        .lives(360, 86_400)
        .places(Plussed, Plussed)
        .loses(NewExit)
        .vendor_is(Vendor::Soax)
        .source_is(High, "helpcenter.soax.com articles 6723733, 7035059, 9939557; public code samples")
        .noting("login(package id, package key); the page on ISP exits says 180 s by default"),
    row("soax-2021", "SOAX", "form of 2021; sticky by port")
        .login("{user}", "wifi;{country};[{isp}];[{state}];[{city}]")
        .at_ports("proxy.soax.com", 9000, 9300)
        .places(Plussed, Plussed)
        .vendor_is(Vendor::Soax)
        .source_is(Medium, SAMPLES)
        .noting("login(key, \"\")"),
    row("soax-rules", "SOAX", "rules; rotating")
        .login("country-{country}-{rules}", "{pass}")
        .at("proxy.soax.com", 5000)
        .says_any()
        .vendor_is(Vendor::Soax)
        .source_is(Low, "developers.soax.com/troubleshooting/error-codes")
        .noting("login(\"\", package key); rules with a `-` between them, like rotate-timed_60; the host is a guess"),
    row("stormproxies", "Storm Proxies", "backconnect; rotates by time")
        .at_given("{ip}")
        .lives(180, 900)
        .loses(NewExit)
        .source_is(Low, "hearsay")
        .noting("lets the client's address in, without a login"),
    row("thordata", "Thordata", "residential, unlimited, mobile")
        .login(
            "td-customer-{user}[-country-{country}][-state-{state}][-city-{city}]-sessid-{session}[-sesstime-{ttl_min}]",
            "{pass}",
        )
        .at("{id}.pr.thordata.net", 9999)
        .token(Alnum, 1, 0)
        .lives(600, 5_400)
        .idle(90)
        .loses(NewExit)
        .vendor_is(Vendor::Thordata)
        .source_is(Medium, "doc.thordata.com residential-proxies/session-control; public code samples")
        .noting("one page says 60 s idle; a session ends at its time even in mid-request"),
    row("tor", "Tor", "SocksPort; isolation by password")
        .login("<torS0X>0", "{session}")
        .at("127.0.0.1", 9050)
        .by(Socks5h)
        .token(Any, 0, 255)
        .lives(600, 0)
        .loses(NewExit)
        .vendor_is(Vendor::Tor)
        .source_is(High, "spec.torproject.org/socks-extensions, proposals 304 and 351, tor(1)")
        .noting("Tor 0.4.9 and Arti; a circuit takes new streams for MaxCircuitDirtiness, 600 s"),
    row("tor-legacy", "Tor", "SocksPort; isolation by user name")
        .login("{session}", "x")
        .at("127.0.0.1", 9050)
        .by(Socks5h)
        .token(Any, 1, 255)
        .lives(600, 0)
        .vendor_is(Vendor::Tor)
        .source_is(High, "spec.torproject.org/socks-extensions, tor(1)")
        .noting("IsolateSOCKSAuth is on by default"),
    row("webshare", "Webshare", "backbone; sticky")
        .login("{user}[-{country}]-{session}", "{pass}")
        .at("p.webshare.io", 80)
        .also(&[(Socks5h, 1080)])
        .token(Digits, 1, 0)
        .vendor_is(Vendor::Webshare)
        .source_is(High, "apidocs.webshare.io/proxy-connection")
        .noting("the split of ports is an assumption; -rotate in the token's place rotates"),
    row("zyte-api", "Zyte API", "proxy mode; rotating")
        .login("{user}", "")
        .at("api.zyte.com", 8011)
        .vendor_is(Vendor::Zyte)
        .source_is(Medium, "docs.zyte.com/zyte-api/usage/proxy-mode; public code samples")
        .noting("the user name is the API key: login(key, \"\"); ends TLS itself"),
    row("zyte-spm", "Zyte Smart Proxy Manager", "sessions by header, so rotating here")
        .login("{user}", "")
        .at("proxy.zyte.com", 8011)
        .lives(1_800, 0)
        .idle(1_800)
        .kept_by_use()
        .loses(Refuses)
        .vendor_is(Vendor::Zyte)
        .source_is(High, "docs.zyte.com/smart-proxy-manager sessions, errors")
        .noting("the user name is the API key: login(key, \"\"); ids of sessions are the provider's, in a header"),
];
