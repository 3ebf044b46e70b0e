//! Each spec of `specs.tsv` is read as it says there, and no error tells what it was made of.

use crate::exit::{Exit, ExitList};
use proptest::prelude::*;
use std::fmt::Write as _;

/// What the message of each error says.
const ERRORS: [(&str, &str); 29] = [
    ("ambiguous", "can be read in two ways"),
    ("ambiguous_scheme", "the scheme socks, which means two protocols"),
    ("bad_host", "no usable host"),
    ("bad_port", "a port that is not a number"),
    ("bad_port_range", "a range of ports that runs backwards"),
    ("colon_in_username", "user name holds a colon"),
    ("control_char_in_credentials", "a control character"),
    ("credentials_too_long_for_socks5", "SOCKS carries at most 255"),
    ("double_scheme", "two schemes"),
    ("empty_credentials", "login is empty"),
    ("empty_username_socks5", "user name is empty"),
    ("ipv6_zone_unsupported", "an IPv6 zone"),
    ("missing_host", "has no host"),
    ("missing_password", "a user name but no password"),
    ("missing_port", "has no port"),
    ("missing_slashes", "a scheme without `://`"),
    ("non_ascii_host", "a host that is not ASCII"),
    ("not_a_proxy_line", "is no proxy but"),
    ("obfuscated_email", "a hidden e-mail address"),
    ("port_out_of_range", "a port that is not 1 to 65535"),
    ("reversed_order", "its halves in the wrong order"),
    ("rotation_link_suffix", "a link that rotates it"),
    ("shell_escape", "a backslash before the `@`"),
    ("socks4_has_no_password", "SOCKS4 has a user id alone"),
    ("unbracketed_ipv6", "an IPv6 address without brackets"),
    ("unexpected_path", "a path behind its port"),
    ("unsupported_scheme", "has the scheme "),
    ("unsupported_separator", "set apart by something else than colons"),
    ("whitespace", "white space"),
];

struct Row {
    spec: String,
    expected: Vec<&'static str>,
}

fn rows() -> Vec<Row> {
    let lines = include_str!("specs.tsv").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &'static str| {
        let mut columns = line.split('\t');
        Row { spec: unescaped(columns.next().unwrap()), expected: columns.collect() }
    };
    lines.map(row).collect()
}

fn unescaped(text: &str) -> String {
    let (mut all, mut rest) = (String::new(), text);
    while let Some((plain, escaped)) = rest.split_once('\\') {
        all.push_str(plain);
        let mut chars = escaped.chars();
        all.push(match chars.next().unwrap() {
            't' => '\t',
            'r' => '\r',
            'n' => '\n',
            '\\' => '\\',
            'u' => {
                let (code, behind) = chars.as_str().strip_prefix('{').unwrap().split_once('}').unwrap();
                chars = behind.chars();
                char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap()
            }
            other => panic!("unknown escape \\{other}"),
        });
        rest = chars.as_str();
    }
    all + rest
}

/// What an exit is, in the columns of the file.
fn columns(exit: &Exit) -> [String; 5] {
    let route = exit.route();
    let login = route.credential().map_or(["~", "~"], |login| [login.user(), login.password()]);
    let [scheme, host] = [route.via().scheme(), route.host()].map(String::from);
    [scheme, host, route.port().to_string(), login[0].into(), login[1].into()]
}

#[test]
fn every_spec_is_read_as_written_or_refused_for_what_is_wrong() {
    let (mut read, mut refused, mut skipped) = (0, 0, 0);
    for Row { spec, expected } in rows() {
        let list = ExitList::parse(&spec);
        match expected[..] {
            ["skip"] => {
                assert!(list.unwrap_err().to_string().contains("names no exit"), "{spec:?}");
                skipped += 1;
            }
            [code] => {
                let code = code.strip_prefix('!').unwrap();
                let (_, says) = ERRORS.iter().find(|(known, _)| *known == code).expect(code);
                let error = list.unwrap_err();
                assert!(error.to_string().contains(says), "{spec:?} is {code}: {error}");
                assert_eq!(error.line(), Some(1), "{spec:?}");
                refused += 1;
            }
            [scheme, host, ports, user, password] => {
                let list = list.expect(&spec);
                let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
                // A login without a password is sent with an empty one.
                let password = if user != "~" && password == "~" { "" } else { password };
                let of = |port: &str| [scheme, host, port, user, password].map(unescaped);
                assert_eq!(columns(&list.iter().next().unwrap()), of(first), "{spec:?}");
                assert_eq!(columns(&list.iter().last().unwrap()), of(last), "{spec:?}");
                let ports = [first, last].map(|port| port.parse::<usize>().unwrap());
                assert_eq!(list.len(), ports[1] - ports[0] + 1, "{spec:?}");
                if first == last && !spec.contains(['#', '"', '\'']) {
                    assert_eq!(columns(&Exit::parse(&spec).expect(&spec)), of(first), "{spec:?}");
                }
                read += 1;
            }
            _ => panic!("{spec:?} has no such columns"),
        }
    }
    assert_eq!((read, refused, skipped), (77, 56, 5));
}

/// The same spec with other words: each letter becomes another one, but for schemes, the words that tell what is no spec, and
/// what stands for a byte. Digits of IPv6 stay digits.
fn in_other_words(spec: &str) -> String {
    let word = |c: char| c.is_ascii_alphabetic();
    let (mut all, mut rest) = (String::new(), spec);
    while let Some(start) = rest.find(word) {
        let end = rest[start..].find(|c| !word(c)).map_or(rest.len(), |length| start + length);
        all.push_str(&rest[..start]);
        let (found, behind) = (&rest[start..end], &rest[end..]);
        let is_scheme = behind.trim_start_matches(char::is_numeric).starts_with("://");
        let known = ["http", "https", "socks", "export", "proxy", "direct", "email", "protected", "th"];
        let is_byte = all.bytes().rev().take(2).any(|b| b == b'%');
        if is_scheme || is_byte || known.contains(&found.to_ascii_lowercase().as_str()) {
            all.push_str(found);
        } else {
            let other = |c: char| match c.to_ascii_lowercase() {
                c @ 'a'..='f' => char::from(b'a' + b'f' - c as u8),
                c => char::from(b'g' + b'z' - c as u8),
            };
            all.extend(found.chars().map(other));
        }
        rest = behind;
    }
    all + rest
}

#[test]
fn an_error_does_not_depend_on_the_words_of_the_spec() {
    let told = |spec: &str| {
        let error = ExitList::parse(spec).expect_err(spec);
        let mut told = format!("{error} {error:?} {error:#?}");
        if let Err(error) = Exit::parse(spec) {
            write!(told, "{error} {error:?} {error:#?}").unwrap();
        }
        told
    };
    let mut compared = 0;
    for Row { spec, expected } in rows() {
        if expected.len() != 1 || expected == ["skip"] {
            continue;
        }
        let other = in_other_words(&spec);
        assert_eq!(told(&spec), told(&other), "{spec:?} and {other:?}");
        for word in spec.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 5) {
            let known =
                ["socks4", "socks5", "example", "export", "rotate"].contains(&word) || word.contains("PROXY");
            assert!(known || !told(&spec).contains(word), "{spec:?} tells {word}");
        }
        compared += usize::from(other != spec);
    }
    assert!(compared > 40, "{compared} have words");
}

#[test]
fn what_can_be_read_in_two_ways_is_not_read() {
    for spec in [
        "203.0.113.7:8080:user:p@ss:1",
        "gw.test:80:user:p@ss.test:1",
        "gw.test:8080/@other.test:80",
        "http://gw.test/@other.test:80",
        "http://gw.test:8080?x=@other.test:80",
        "gw.test:8080#@other.test:80",
    ] {
        let error = Exit::parse(spec).unwrap_err().to_string();
        assert!(error.contains("in two ways") && error.contains("%40"), "{spec}: {error}");
    }
    for spec in [
        "203.0.113.7:8080@gw.test:80",
        "http://gw.test:8080@user:1234",
        "http://gw.test:8080@user",
        "localhost:8080@user:1234",
        "[2001:db8::1]:8080@user:1234",
        "gw.test:10000-10999@user:1234",
    ] {
        let error = Exit::parse(spec).unwrap_err().to_string();
        assert!(error.contains("in the wrong order"), "{spec}: {error}");
    }
    for spec in
        ["beef:1234:5:6:7:8:9:a:8080", "2001:db8::1:8080:user:pass", "::1:1:u:p", "u:p@2001:db8::1:80"]
    {
        let error = Exit::parse(spec).unwrap_err().to_string();
        assert!(error.contains("IPv6 address without brackets"), "{spec}: {error}");
    }
}

#[test]
fn what_has_one_reading_is_read() {
    for (spec, expected) in [
        ("john.doe:1234@proxy.test:80", ["http", "proxy.test", "80", "john.doe", "1234"]),
        ("http://john.doe:1234@proxy.test", ["http", "proxy.test", "80", "john.doe", "1234"]),
        ("user:pa|ss,;@proxy.test:80", ["http", "proxy.test", "80", "user", "pa|ss,;"]),
        ("proxy.test:80:user:pa|ss,;/", ["http", "proxy.test", "80", "user", "pa|ss,;/"]),
        ("user:pa:ss:proxy.test:80", ["http", "proxy.test", "80", "user", "pa:ss"]),
        ("user::proxy.test:80", ["http", "proxy.test", "80", "user", ""]),
        ("user:pw:[2001:db8::1]:80", ["http", "2001:db8::1", "80", "user", "pw"]),
        ("proxy.test.:80", ["http", "proxy.test.", "80", "~", "~"]),
        ("local:80", ["http", "local", "80", "~", "~"]),
    ] {
        assert_eq!(columns(&Exit::parse(spec).expect(spec)), expected.map(String::from), "{spec}");
    }
}

#[test]
fn what_is_no_spec_says_what_it_is() {
    for (spec, says) in [
        ("PROXY_URL='http://u:p@gw.test:1'", "a setting of the environment"),
        ("set https_proxy=gw.test:1", "a setting of the environment"),
        ("direct", "a directive"),
        ("http 203.0.113.7 8080", "a directive"),
        ("[", "a piece of JSON"),
        ("{", "a piece of JSON"),
        ("http:\\\\gw.test:1", "without `://`"),
        ("//proxy.test:1", "no scheme before its slashes"),
        ("gw.test:1-2", "a range of ports"),
        ("[gw.test]:80", "not an IPv6 address in its brackets"),
        ("[::1]x:80", "text behind its `]`"),
        ("http://gw.test/path", "a path behind its host"),
        // Found by the draws below: no byte of it is where a host of one reading would begin.
        ("\u{1d4bb}[2001:db8::1]:secret", "a port that is not a number"),
        ("letmein1234://gw.test:80", "a scheme that is not spoken here"),
        ("u:p@gw.test,80", "something else than colons"),
    ] {
        let error = Exit::parse(spec).unwrap_err().to_string();
        assert!(error.contains(says), "{spec}: {error}");
    }
}

#[test]
fn an_own_address_has_a_spec() {
    for ip in ["192.0.2.7", "2001:db8::7", "::ffff:192.0.2.7"] {
        let spec = if ip.contains(':') { format!("local://[{ip}]") } else { format!("local://{ip}/") };
        assert_eq!(Exit::parse(&spec).expect(&spec), Exit::local(ip.parse().unwrap()), "{spec}");
    }
    assert_eq!(Exit::parse("LOCAL://192.0.2.7").unwrap().route().local(), Some([192, 0, 2, 7].into()));
    for spec in ["local://0.0.0.0", "local://[::]", "local://[::ffff:0.0.0.0]"] {
        assert!(Exit::parse(spec).unwrap_err().to_string().contains("open"), "{spec}");
    }
    for spec in [
        "local://",
        "local://gw.test",
        "local://192.0.2.7:1",
        "local://user@192.0.2.7",
        "local://2001:db8::7",
        "local://[fe80::1%eth0]",
        "local://[192.0.2.7]",
    ] {
        assert!(Exit::parse(spec).unwrap_err().to_string().contains("no address of this machine"), "{spec}");
    }
    for spec in ["192.0.2.7:1", "http://192.0.2.7", "localhost:1"] {
        assert_eq!(Exit::parse(spec).unwrap().route().local(), None, "{spec}");
    }
    let gateway = crate::exit::Gateway::rotating("local://192.0.2.7").unwrap_err().to_string();
    assert!(gateway.contains("an address of this machine"), "{gateway}");
}

/// A password nobody else writes, and what people put around one.
fn pasted() -> impl Strategy<Value = (String, String)> {
    let piece = || {
        prop_oneof![
            3 => prop::sample::select(vec![
                "http", "https", "socks5", "socks4", "ftp", "local", "://", ":", "@", "/", "//", "[", "]", "|", ",", " ",
                "#", "-", "%", "%40", "%zz", "\"", "\\", "\u{feff}", "\u{a0}", "\u{200b}", "=", "{session}", "?",
            ]).prop_map(String::from),
            2 => prop::sample::select(vec![
                "gw.test", "203.0.113.7", "[2001:db8::1]", "2001:db8::1", "localhost", "80", "8080", "65536", "1-5", "user",
                "[email protected]", "PROXY", "HTTP_PROXY=",
            ]).prop_map(String::from),
            1 => "\\PC{0,6}",
        ]
    };
    let pieces = || prop::collection::vec(piece(), 0..7).prop_map(|pieces| pieces.concat());
    ("[a-zA-Z][a-zA-Z0-9]{11,15}", pieces(), pieces())
        .prop_map(|(password, before, after)| (format!("{before}{password}{after}"), password))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_spec_panics_or_tells_its_password((spec, password) in pasted()) {
        let exit = Exit::parse(&spec).err();
        let list = ExitList::parse(&format!("{spec}\n203.0.113.9:1"));
        let skipped = list.iter().flat_map(ExitList::skipped).chain(list.as_ref().err());
        for error in exit.iter().chain(skipped) {
            prop_assert!(!format!("{error} {error:?}").contains(&password), "{}", error);
        }
        let gateway = format!("{:?}", crate::exit::Gateway::parse(&spec).err());
        prop_assert!(!gateway.contains(&password), "{}", gateway);
        if let Ok(exit) = Exit::parse(&spec) {
            // The host of a spec without a login may be any word.
            let login = exit.route().credential().is_some();
            prop_assert!(!login || !exit.route().host().contains(&password) || !spec.contains('@'), "{}", spec);
        }
    }
}
