//! Specs and lists, and what they must never print.

use super::*;

fn read(spec: &str) -> String {
    match Exit::parse(spec) {
        Ok(exit) => {
            let route = exit.route();
            let login =
                route.credential().map_or_else(String::new, |c| format!(" {}|{}", c.user(), c.password()));
            format!("{}:{}{login}", route.host(), route.port())
        }
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn c18_specs_are_read_as_written() {
    for (spec, expected) in [
        ("127.0.0.1:3128", "127.0.0.1:3128"),
        ("http://proxy.test", "proxy.test:80"),
        ("HTTP://Proxy.Test:8080/", "proxy.test:8080"),
        ("http://user:p@ss@proxy.test:8080", "proxy.test:8080 user|p@ss"),
        ("http://user:pa/ss@proxy.test:8080", "proxy.test:8080 user|pa/ss"),
        ("http://user:100%@proxy.test:8080", "proxy.test:8080 user|100%"),
        ("user:p%40ss@proxy.test:8080", "proxy.test:8080 user|p@ss"),
        ("http://user@proxy.test:8080", "proxy.test:8080 user|"),
        ("proxy.test:8080:user:p%40ss", "proxy.test:8080 user|p%40ss"),
        ("http://203.0.113.7:8080:user:pass", "203.0.113.7:8080 user|pass"),
        ("203.0.113.7:8080:user:p:q", "203.0.113.7:8080 user|p:q"),
        ("203.0.113.7:8080:user:", "203.0.113.7:8080 user|"),
        ("user:1234:proxy.test:8080", "proxy.test:8080 user|1234"),
        ("[2001:db8::1]:8080:user:pass", "2001:db8::1:8080 user|pass"),
        ("http://u:p@[2001:DB8::1]:8080", "2001:db8::1:8080 u|p"),
        ("\u{feff} 203.0.113.7:8080\u{a0}", "203.0.113.7:8080"),
        ("localhost:1", "localhost:1"),
    ] {
        assert_eq!(read(spec), expected, "{spec}");
    }
}

#[test]
fn what_cannot_be_read_says_why_and_repeats_nothing() {
    for (spec, why) in [
        ("", "is empty"),
        ("proxy.test", "has no port"),
        ("//proxy.test:1", "no scheme before its slashes"),
        ("http://user:pa#ss@proxy", "has no port after a login"),
        ("10.0.0.1:8080:10.0.0.2:9090", "can be read in two ways"),
        ("203.0.113.7:8080@user:pass", "halves in the wrong order"),
        ("203.0.113.7:8080:user", "no password"),
        ("203.0.113.7:8080::pass", "empty user name"),
        ("2001:db8::1:8080", "without brackets"),
        ("socks://203.0.113.7:1080", "means two protocols"),
        ("socks4://user:secret@203.0.113.7:1080", "SOCKS4 has a user id alone"),
        ("http:user:secret@proxy.test:8080", "without `://`"),
        ("http://u:p@http://proxy.test:8080", "two schemes"),
        ("http://user:pa%0d%0asecret@proxy.test:8080", "control character"),
        ("http://us%3Aer:secret@proxy.test:8080", "colon"),
        ("http://user:secret\\@proxy.test:80", "backslash"),
        ("203.0.113.7:0", "not 1 to 65535"),
        ("203.0.113.7:99999", "not 1 to 65535"),
        ("http://203.0.113.7:80/path", "a path behind its port"),
        ("sock5h://203.0.113.7:1080", "the scheme sock5h, which is not spoken here"),
        ("203.0.113.7:", "no port behind its colon"),
        ("999.0.113.7:80", "no usable host"),
        ("http://user:secret@pröxy.test:80", "a host that is not ASCII"),
        ("user secret proxy.test:80", "white space"),
        ("[::1:80", "`[` without `]`"),
        ("proxy.test:80:user-{session}:secret", "the template of a gateway"),
        ("http://user:secret-{session}@proxy.test:80", "the template of a gateway"),
    ] {
        let read = read(spec);
        assert!(read.starts_with("error: ") && read.contains(why), "{spec}: {read}");
        assert!(!read.contains("secret"), "{read}");
    }
}

#[test]
fn a_list_skips_what_is_no_spec_and_counts_an_exit_once() {
    let text = "\u{feff}# ours\r\n\r\n203.0.113.7:8080\t\r\n; old\n// older\n\"203.0.113.8:8080\",\n\
                203.0.113.7:8080   # Frankfurt\nproxy.test:1:user:pa#ss";
    let list = ExitList::parse(text).unwrap();
    let read: Vec<_> = list.iter().map(|exit| exit.route().url()).collect();
    assert_eq!(read, ["http://203.0.113.7:8080", "http://203.0.113.8:8080", "http://proxy.test:1"]);
    assert_eq!(list.iter().last().unwrap().route().credential().unwrap().password(), "pa#ss");
}

#[test]
fn a_bad_list_names_its_line() {
    let error = ExitList::parse("# ours\n\nuser:secret@\n").unwrap_err();
    assert_eq!(error.line(), Some(3));
    assert!(error.to_string().starts_with("line 3: proxy spec "), "{error}");
    let twice = ExitList::parse("u:one@gw.test:1\nu:two@gw.test:1").unwrap().whole().unwrap_err();
    assert!(
        twice.to_string().contains("line 2: ") && twice.to_string().contains("line 1 with another password")
    );
    let none = ExitList::parse("# nothing\n").unwrap_err();
    assert!(none.to_string().contains("names no exit"), "{none}");
    let missing = ExitList::from_path("no/such/file").unwrap_err();
    assert_eq!((missing.file(), missing.line()), (Some("no/such/file"), None));
}

#[test]
fn an_exit_is_a_gateway_with_a_user_and_not_a_password() {
    let id = |spec: &str| Exit::parse(spec).unwrap().id();
    assert_eq!(id("http://u:one@gw.test:80"), id("gw.test:80:u:two"));
    assert_ne!(id("u:p@gw.test:80"), id("v:p@gw.test:80"));
    assert_ne!(id("gw.test:80"), id("gw.test:81"));
    // The same in every build and process: it is written into logs and shared stores.
    assert_eq!(id("http://user:pw@gw.example:7000").to_string(), "6384896dd7131c3c");
}

#[test]
fn c19_nothing_prints_a_login() {
    let list = ExitList::parse("token-secret:secret@gw.test:80").unwrap();
    let exit = list.iter().next().unwrap();
    let printed = format!("{list:?} {exit:?} {:?} {:?}", exit.route(), exit.route().credential());
    assert!(!printed.contains("secret") && printed.contains("gw.test:80"), "{printed}");
    let basic = exit.route().credential().unwrap().basic().unwrap();
    assert_eq!(basic, "Basic dG9rZW4tc2VjcmV0OnNlY3JldA==");
    assert!(basic.is_sensitive());
}

#[test]
fn a_gateway_is_checked_when_it_is_read() {
    for (template, why) in [
        ("http://user:secret@gw.test:1", "no {session} in its login"),
        ("http://{session}.gw.test:1", "in its address"),
        ("http://u:secret@gw.test:{session}", "in its address"),
        ("http://u-{sesion}:secret@gw.test:1", "is `{sesion}` meant to be it?"),
        ("http://u-{session}:secret@gw.test:80-79", "range of ports that is none"),
        ("http://u-{session}:secret@gw.test:80-90", "a {session} and a range of ports"),
        ("http://u-{session}:secret{@gw.test:1", "a brace without its other half"),
        ("http://u-{session}:secret}@gw.test:1", "a brace without its other half"),
        ("http://u-{session}-{a b}:secret@gw.test:1", "white space"),
        ("http://u-{session}-{a.b}:secret@gw.test:1", "whose name is none"),
        ("http://u-{session}[-{a}[-{b}]]:secret@gw.test:1", "brackets inside brackets"),
        ("http://u-{session}[-{a:secret@gw.test:1", "a brace without its other half"),
        ("socks4://u-{session}:secret@gw.test:1", "SOCKS4 has a user id alone"),
    ] {
        let error = Gateway::parse(template).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains("secret"), "{template}: {error}");
    }
    assert!(
        Gateway::rotating("http://u-{session}:p@gw.test:1")
            .unwrap_err()
            .to_string()
            .contains("rotate by itself")
    );
    let gateway = Gateway::parse("http://u-{session}:p@gw.test:1").unwrap();
    assert!(gateway.clone().token_length(3).is_err() && gateway.token_length(33).is_err());
}

#[test]
fn c18_a_gateways_password_may_hold_what_a_uri_may_not() {
    for (template, password) in [
        ("http://u-{session}:p@ss:w/rd@gw.test:7000", "p@ss:w/rd"),
        ("u-{session}:p%40ss@gw.test:7000", "p@ss"),
    ] {
        let exit = Gateway::parse(template)
            .unwrap()
            .exit(&Session { salt: 1, rider: 1, generation: 0, window: 0 }, 0);
        let route = exit.route();
        let login = route.credential().unwrap();
        assert_eq!((route.host(), route.port(), login.password()), ("gw.test", 7000, password), "{template}");
        assert!(login.user().starts_with("u-") && login.user().len() == 10, "{template}");
    }
}

#[test]
fn a_session_in_the_password_names_another_exit() {
    let gateway = Gateway::parse("http://user:pw_session-{session}@gw.test:1").unwrap();
    let session = |rider| Session { salt: 1, rider, generation: 0, window: 0 };
    let (one, two) = (gateway.exit(&session(1), 0), gateway.exit(&session(2), 1));
    assert_ne!(one.id(), two.id());
    assert_eq!(one.id(), gateway.exit(&session(1), 7).id(), "the same session is the same exit");
    assert!(one.route().credential().unwrap().password().starts_with("pw_session-"));
    // The same in every build and process: processes agree on tokens without talking.
    let token = gateway.exit(&session(1), 0).route().credential().unwrap().password()["pw_session-".len()..]
        .to_owned();
    assert_eq!(token, "k5ajuuin");
}

#[test]
fn a_gateway_with_more_slots_than_it_can_have_is_refused_when_built() {
    let gateway = || Gateway::parse("http://u-{session}:pw@gw.example:7000").unwrap();
    let many = |n| std::num::NonZeroU32::new(n).unwrap();
    let built = |gateway| crate::scheduler::Scheduler::builder().gateway(gateway).build();
    let short = gateway().digits().token_length(4).unwrap();
    for (wrong, says) in [
        (gateway().sessions(many(u32::MAX)), "at most 65,536"),
        (short.clone().sessions(many(9_001)), "more than there are tokens"),
        (gateway().lifetime(std::time::Duration::ZERO), "lifetime is zero"),
    ] {
        let refused = built(wrong).unwrap_err().to_string();
        assert!(refused.contains(says) && !refused.contains("pw"), "{refused}");
    }
    assert!(built(short.sessions(many(9_000))).is_ok());
}

#[test]
fn a_scheme_says_how_the_exit_is_spoken_to() {
    for (spec, via, port) in [
        ("http://gw.test", Via::Http, 80),
        ("https://gw.test", Via::Https, 443),
        ("SOCKS5://gw.test", Via::Socks5, 1080),
        ("socks5h://u:p@[2001:db8::5]", Via::Socks5h, 1080),
        ("socks5://203.0.113.7:1081:user:pass", Via::Socks5, 1081),
        ("socks4://gw.test", Via::Socks4, 1080),
        ("SOCKS4a://user@gw.test:7", Via::Socks4a, 7),
        ("gw.test:7", Via::Http, 7),
    ] {
        let exit = Exit::parse(spec).unwrap();
        assert_eq!((exit.route().via(), exit.route().port()), (via, port), "{spec}");
    }
    let ids = ["http", "https", "socks5", "socks5h", "socks4", "socks4a"]
        .map(|scheme| Exit::parse(&format!("{scheme}://gw.test:1")).unwrap().id());
    assert_eq!(
        ids.iter().collect::<std::collections::HashSet<_>>().len(),
        6,
        "another protocol is another exit"
    );
}

#[test]
fn an_own_address_is_an_exit_without_a_proxy() {
    for ip in ["192.0.2.7", "2001:db8::7"] {
        let exit = Exit::local(ip.parse().unwrap());
        let route = exit.route();
        assert_eq!((route.via(), route.local()), (Via::Local, Some(ip.parse().unwrap())));
        assert!(route.credential().is_none());
    }
    assert_eq!(Exit::parse("127.0.0.1:1").unwrap().route().local(), None);
    assert!(Exit::parse("local://192.0.2.7:1").is_err(), "it has no port");
}

#[test]
fn te_075_te_144_a_socks_login_is_sent_as_bytes_of_a_known_length() {
    let login = |spec: &str| {
        let exit = Exit::parse(spec).map_err(|error| error.to_string())?;
        let login = exit.route().credential().unwrap();
        Ok::<_, String>((login.user().to_owned(), login.password().to_owned()))
    };
    for scheme in ["socks5", "socks5h"] {
        let with_colon = login(&format!("{scheme}://user%3Aname:p%40ss@gw.test"));
        assert_eq!(with_colon, Ok(("user:name".to_owned(), "p@ss".to_owned())));
        for (user, decoded) in [("a".repeat(255), 255), ("%C3%A9".repeat(45), 90)] {
            assert_eq!(login(&format!("{scheme}://{user}:pw@gw.test")).unwrap().0.len(), decoded);
        }
        let long = login(&format!("{scheme}://{}:pw@gw.test", "s".repeat(256))).unwrap_err();
        assert!(long.contains("256 bytes") && long.contains("255") && !long.contains("sss"), "{long}");
        assert_eq!(login(&format!("{scheme}://user:@gw.test")).unwrap().1, "", "sent as no bytes");
        assert!(login(&format!("{scheme}://:pw@gw.test")).unwrap_err().contains("user name is empty"));
    }
    for scheme in ["http", "https"] {
        assert!(login(&format!("{scheme}://user%3Aname:p%40ss@gw.test")).unwrap_err().contains("colon"));
    }
    for scheme in ["http", "https", "socks5", "socks5h"] {
        let read = login(&format!("{scheme}://user%40name:p%40ss@gw.test"));
        assert_eq!(read, Ok(("user@name".to_owned(), "p@ss".to_owned())), "{scheme}");
    }
}

#[test]
fn a_token_must_fit_the_protocol() {
    let gateway = |scheme: &str, before: usize| {
        let template = format!("{scheme}://{}{{session}}:secret@gw.test:1", "u".repeat(before));
        Gateway::parse(&template).and_then(|gateway| gateway.token_length(32)).and_then(|gw| gw.check())
    };
    assert!(gateway("socks5h", 223).is_ok());
    let long = gateway("socks5h", 224).unwrap_err().to_string();
    assert!(long.contains("256 bytes") && !long.contains("secret"), "{long}");
    assert!(gateway("http", 1000).is_ok());
}

#[test]
fn a_pool_is_where_its_gateways_are() {
    let gateway = || Gateway::parse("http://u-{country}-{session}:p@gw.test:1").unwrap().country("us");
    assert!(Pool::new("resi", gateway()).country("US").check().is_ok());
    let wrong = Pool::new("resi", gateway()).country("de").check().unwrap_err().to_string();
    assert!(wrong.starts_with("pool country of `resi` is de, and its gateway's us; "), "{wrong}");
}
