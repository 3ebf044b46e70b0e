//! Lists: ranges, what is left out, and where an exit stands.

use super::{entry::Entry, seen::Seen};
use crate::exit::{Exit, ExitList};
use std::io::{self, Read};

fn shown(list: &ExitList) -> Vec<String> {
    let show = |exit: Exit| {
        let login = exit.route().credential().map_or_else(String::new, |login| format!(" {}", login.user()));
        format!("{}:{}{login}", exit.route().host(), exit.route().port())
    };
    list.iter().map(show).collect()
}

#[test]
fn a_range_is_one_entry_whose_exits_are_made_in_turn() {
    let list =
        ExitList::parse("gw.test:1-3:u:p\n203.0.113.7:80\nsocks5h://u:p@[2001:db8::1]:9-10\n").unwrap();
    let all = [
        "gw.test:1 u",
        "gw.test:2 u",
        "gw.test:3 u",
        "203.0.113.7:80",
        "2001:db8::1:9 u",
        "2001:db8::1:10 u",
    ];
    assert_eq!(shown(&list), all);
    assert_eq!((list.len(), list.entries.len()), (6, 3));
    let mut exits = list.iter();
    for left in (0..6).rev() {
        let exit = exits.next().unwrap();
        assert_eq!(exits.len(), left);
        // Each is the exit that a line of its own would be.
        let login = if exit.route().credential().is_some() { "://u:p@" } else { "://" };
        assert_eq!(exit, Exit::parse(&exit.route().url().replace("://", login)).unwrap());
    }
    assert!(exits.next().is_none() && exits.next().is_none());
    let login = |at| std::ptr::from_ref(list.iter().nth(at).unwrap().route().credential().unwrap().user());
    assert_eq!(login(0), login(2), "one login, shared");
    let whole = ExitList::parse("gw.test:1-65535").unwrap();
    assert_eq!((whole.len(), whole.iter().count()), (65_535, 65_535));
}

#[test]
fn lists_are_equal_by_their_exits() {
    let range = ExitList::parse("gw.test:1-3:u:p").unwrap();
    let lines = ExitList::parse("# as lines\ngw.test:1:u:p\ngw.test:2:u:p\ngw.test:3:u:p\nbad").unwrap();
    assert_eq!(range, lines);
    assert_eq!(range, range.iter().collect());
    assert_ne!(range, ExitList::parse("gw.test:1-3:u:q").unwrap());
    assert_ne!(range, ExitList::parse("gw.test:1-2:u:p").unwrap());
    let mut more = range.clone();
    more.extend(Exit::parse("gw.test:4:u:p"));
    assert_eq!(more, ExitList::parse("gw.test:1-4:u:p").unwrap());
    assert_eq!((more.len(), more.line_of(more.iter().last().unwrap().id())), (4, None), "it was not read");
    let mut both = range.clone();
    both.append(lines);
    assert_eq!((both.len(), both.skipped_total()), (6, 1));
}

/// Over short ranges of few ports, as a table of ports says it.
#[test]
fn an_exit_of_two_ranges_counts_once() {
    let ranges: Vec<_> = (1..=6).flat_map(|first| (first..=6).map(move |last| (first, last))).collect();
    for one in &ranges {
        for two in &ranges {
            for three in &ranges {
                let lines = [one, two, three].map(|(first, last)| format!("gw.test:{first}-{last}:u:p\n"));
                let list = ExitList::parse(&lines.concat()).unwrap();
                let mut expected: Vec<u16> = Vec::new();
                for (first, last) in [one, two, three] {
                    let new = (*first..=*last).filter(|port| !expected.contains(port)).collect::<Vec<_>>();
                    expected.extend(new);
                }
                let ports: Vec<_> = list.iter().map(|exit| exit.route().port()).collect();
                assert_eq!(ports, expected, "{lines:?}");
                assert_eq!(list.len(), expected.len(), "{lines:?}");
            }
        }
    }
}

#[test]
fn what_is_named_again_is_told_and_what_differs_is_skipped() {
    let list = ExitList::parse(
        "gw.test:1-9:u:p\ngw.test:5:u:p\ngw.test:8-12:u:p\ngw.test:2:u:other-secret\ngw.test:12-20:v:p",
    )
    .unwrap();
    assert_eq!((list.len(), list.repeated_total(), list.skipped_total()), (21, 2, 1));
    let told: Vec<_> = list.repeated().iter().map(ToString::to_string).collect();
    assert!(told[0].starts_with("line 2: ") && told[0].contains("an exit of line 1 again"), "{told:?}");
    assert!(told[1].starts_with("line 3: "), "{told:?}");
    let skipped = list.skipped()[0].to_string();
    assert!(skipped.starts_with("line 4: ") && skipped.contains("line 1 with another password"), "{skipped}");
    assert!(!skipped.contains("secret"));
    let at = |spec: &str| list.line_of(Exit::parse(spec).unwrap().id());
    assert_eq!(
        (at("gw.test:5:u:p"), at("gw.test:12:u:p"), at("gw.test:12:v:p")),
        (Some(1), Some(3), Some(5))
    );
    assert_eq!(at("gw.test:13:u:p"), None);
}

#[test]
fn the_good_lines_of_a_list_are_kept_and_the_bad_ones_told() {
    let folder = std::env::temp_dir().join(format!("egress-list-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("proxies.txt");
    let bad: String = (0..150).map(|_| "user:secret@\n").collect();
    std::fs::write(&path, format!("203.0.113.7:80\n{bad}gw.test:1-2\n")).unwrap();
    let list = ExitList::from_path(&path).unwrap();
    assert_eq!((list.len(), list.skipped_total(), list.skipped().len()), (3, 150, 100));
    for (number, error) in (2..).zip(list.skipped()) {
        assert_eq!((error.file(), error.line()), (path.to_str(), Some(number)));
        assert!(!error.to_string().contains("secret"));
    }
    let first = list.skipped()[0].clone();
    assert_eq!(list.whole(), Err(first), "for a reload");
    assert_eq!(ExitList::parse("203.0.113.7:80").unwrap().whole().unwrap().len(), 1);
    std::fs::write(&path, "# none\nuser:secret@\nnot a proxy\n").unwrap();
    let none = ExitList::from_path(&path).unwrap_err();
    assert_eq!((none.file(), none.line()), (path.to_str(), Some(2)), "the first bad line");
    std::fs::write(&path, "# none\n").unwrap();
    let none = ExitList::from_path(&path).unwrap_err();
    assert!(none.to_string().contains("names no exit") && none.file().is_some(), "{none}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_not_utf_8_is_a_bad_line() {
    let list = ExitList::from_reader(&b"203.0.113.7:80\r\nu:p\xe4ss@gw.test:1\r\n\xef\xbb\xbfgw.test:2"[..])
        .unwrap();
    assert_eq!(shown(&list), ["203.0.113.7:80", "gw.test:2"]);
    let told = list.skipped()[0].to_string();
    assert!(told.starts_with("line 2: ") && told.contains("is not UTF-8"), "{told}");
    let utf_16 = b"\xff\xfea\0:\x001\0\n\0b\0:\x002\0";
    assert!(ExitList::from_reader(&utf_16[..]).unwrap_err().to_string().contains("is not UTF-8"));
}

#[test]
fn a_list_has_bounds() {
    let most: String = (0..16).map(|host| format!("h{host}.test:1-62500\n")).collect();
    assert_eq!(ExitList::parse(&most).unwrap().len(), 1_000_000);
    let more = ExitList::parse(&format!("{most}\n203.0.113.7:80")).unwrap_err();
    assert_eq!(more.line(), Some(18));
    assert!(more.to_string().contains("more than 1,000,000"), "{more}");
    let endless = ExitList::from_reader(io::repeat(b'x')).unwrap_err().to_string();
    assert!(endless.contains("more than 64 MiB"), "{endless}");
    let broken = ExitList::from_reader(Broken).unwrap_err().to_string();
    assert!(broken.contains("cannot be read: it broke"), "{broken}");
}

/// A line costs by the ranges that it meets, so what it covers must not be met again.
#[test]
fn a_range_takes_the_place_of_those_it_covers() {
    let (mut list, mut seen) = (ExitList::default(), Seen::default());
    let mut take = |first: u16, last: u16, line| {
        let exit = Exit::parse("gw.test:1").unwrap().at_port(first);
        list.take(&Entry::read(exit, last - first, line), &mut seen, &|error| error);
        (list.len(), seen.len())
    };
    for (line, port) in (1..).zip((1..65_535).step_by(2)) {
        take(port, port, line);
    }
    assert_eq!(take(5, 9, 40_000), (32_769, 32_765), "three of 32,767 ranges became one");
    assert_eq!(take(8, 12, 40_001), (32_771, 32_765), "10 to 12 are two, and one of them was known");
    assert_eq!(take(1, 65_535, 40_002), (65_535, 1));
    assert_eq!(take(1, 65_535, 40_003), (65_535, 1));
    assert_eq!(take(7, 9, 40_004), (65_535, 1));
    let told: Vec<_> = list.repeated().iter().map(ToString::to_string).collect();
    for (told, line) in told.iter().zip([3, 40_000, 1, 40_002, 40_002]) {
        assert!(told.contains(&format!("an exit of line {line} again")), "{told}");
    }
    assert_eq!(
        list.line_of(Exit::parse("gw.test:7").unwrap().id()),
        Some(4),
        "an exit is still of its first line"
    );
}

#[test]
fn lines_that_are_skipped_cost_no_end_of_time() {
    let ports: String = (3..=2_002).map(|port| format!("gw.test:{port}:u:p\n")).collect();
    let again = |times: usize| format!("gw.test:1:u:S3CRET\n{ports}{}", "gw.test:1-2002:u:p\n".repeat(times));
    assert_eq!(ExitList::parse(&again(500)).unwrap().skipped_total(), 500);
    let refused = ExitList::parse(&again(600)).unwrap_err();
    assert_eq!(refused.line(), Some(2_001 + 501), "the first line past 1,000,000 ranges");
    let told = refused.to_string();
    assert!(told.contains("other passwords too often") && !told.contains("S3CRET"), "{told}");
    // Whoever says a line many times with another password pays nothing for it.
    let twice = format!("gw.test:1:u:p\n{}", "gw.test:1:u:q\n".repeat(1_000));
    assert_eq!(ExitList::parse(&twice).unwrap().skipped_total(), 1_000);
}

#[test]
fn a_spec_given_for_a_path_is_told_without_its_login() {
    for spec in ["user:S3CRET@gw.test:8080", "http://u:S3CRET@gw.test:1", "gw.test:8080:user:S3CRET"] {
        let error = ExitList::from_path(spec).unwrap_err();
        let told = format!("{error} {error:?} {error:#?}");
        assert!(!told.contains("S3CRET"), "{told}");
        assert!(
            told.contains("is no file, and looks like a proxy spec; give specs to ExitList::parse"),
            "{told}"
        );
    }
    let missing = ExitList::from_path("no/such/proxies.txt").unwrap_err();
    assert!(missing.to_string().starts_with("no/such/proxies.txt: exit list cannot be read: "), "{missing}");
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("it broke"))
    }
}

#[test]
fn te_024_an_exit_without_a_scheme_is_read_or_refused() {
    for (spec, port) in [("127.0.0.1:3128", 3128), ("proxy.test:1234", 1234)] {
        let list = ExitList::parse(spec).unwrap();
        let exit = list.iter().next().unwrap();
        assert_eq!(
            (list.len(), exit.route().port(), exit.route().url()),
            (1, port, format!("http://{spec}"))
        );
    }
    let refused =
        |spec: &str| (Exit::parse(spec).unwrap_err(), ExitList::parse(&format!("\n{spec}\n")).unwrap_err());
    let (alone, listed) = refused("proxy.test");
    assert!(alone.to_string().contains("has no port"), "{alone}");
    assert_eq!(listed.line(), Some(2));
    // In a list `//` begins a comment, with white space behind it or not, since that is how lines are taken out for a while.
    for spec in ["//proxy.test:1", ""] {
        let (_, listed) = refused(spec);
        assert!(listed.to_string().contains("names no exit"), "{listed}");
    }
    let none = crate::scheduler::Scheduler::builder().exits(ExitList::default()).build().unwrap_err();
    assert!(none.to_string().contains("exits are missing"), "{none}");
}

#[test]
fn te_038_an_unknown_scheme_fails_and_is_named() {
    for (scheme, read) in [("SOCKS5", "socks5"), ("socks5h", "socks5h"), ("https", "https"), ("Http", "http")]
    {
        let exit = Exit::parse(&format!("{scheme}://S3CRET:S3CRET@gw.test:1")).unwrap();
        assert_eq!(exit.route().via().scheme(), read);
    }
    for scheme in ["socks", "httpx", "ftp", "quic", "sock5h", "http3"] {
        let error = ExitList::parse(&format!("{scheme}://S3CRET:S3CRET@gw.test:1")).unwrap_err();
        let told = format!("{error} {error:?}");
        assert!(told.contains(&format!("has the scheme {scheme}, which ")), "{told}");
        assert!(!told.contains("S3CRET"), "{told}");
    }
}

/// White space that a web page leaves at the edges of a line is left away, and not refused as the case has it: nobody means
/// it, and nobody sees it. Within a spec it is an error.
#[test]
fn te_087_decorated_lines_are_the_same_exit() {
    let plain = Exit::parse("http://u:S3CRET@gw.test:8080").unwrap();
    for line in [
        "http://u:S3CRET@gw.test:8080 ",
        "\thttp://u:S3CRET@gw.test:8080\t\r\n",
        "\u{feff}http://u:S3CRET@gw.test:8080\n",
        "\n\n# comment\n  # another\nhttp://u:S3CRET@gw.test:8080",
        "http://u:S3CRET@gw.test:8080/",
        "HTTP://u:S3CRET@GW.test:8080",
        "http://u:S3CRET@gw.test:8080\u{a0}",
        "http://u:S3CRET@gw.test:8080 # Frankfurt",
        "\"http://u:S3CRET@gw.test:8080\",",
    ] {
        let list = ExitList::parse(line).expect(line);
        assert_eq!(list, ExitList::from_iter([plain.clone()]), "{line:?}");
        assert_eq!((list.skipped_total(), list.repeated_total()), (0, 0), "{line:?}");
    }
    let twice = ExitList::parse("u:S3CRET@gw.test:8080\n\ngw.test:8080:u:S3CRET\n").unwrap();
    assert_eq!((twice.len(), twice.repeated_total()), (1, 1));
    let inside = ExitList::parse("gw.test:1\nhttp://u:S3CRET@gw\u{a0}.test:8080").unwrap();
    let told = inside.skipped()[0].to_string();
    assert!(
        told.starts_with("line 2: ") && told.contains("white space") && !told.contains("S3CRET"),
        "{told}"
    );
}

#[test]
fn te_114_colon_lists_keep_the_login_out_of_the_address() {
    for (line, expected) in [
        ("h:1:u:p", ("h", 1, "u", "p")),
        ("h:1:u:p:q", ("h", 1, "u", "p:q")),
        ("[::1]:1:u:p", ("::1", 1, "u", "p")),
        ("user:pass@h:1", ("h", 1, "user", "pass")),
    ] {
        let exit = ExitList::parse(line).expect(line).into_iter().next().unwrap();
        let (route, login) = (exit.route(), exit.route().credential().unwrap());
        assert_eq!((route.host(), route.port(), login.user(), login.password()), expected, "{line}");
    }
    for (line, says) in [
        ("::1:1:u:p", "IPv6 address without brackets"),
        ("h:99999:u:p", "not 1 to 65535"),
        ("h:0", "not 1 to 65535"),
        ("h:1:", "no password"),
        ("h:1::p", "empty user name"),
        ("h:1@u:p", "not a number"),
    ] {
        let error = ExitList::parse(line).unwrap_err().to_string();
        assert!(error.contains(says), "{line}: {error}");
    }
}

#[test]
fn a_list_that_may_be_somebody_elses_makes_nothing_go_without_a_proxy() {
    let list = ExitList::parse("gw.test:1\nlocal://192.0.2.7\nLOCAL://[2001:db8::7]\n").unwrap();
    assert_eq!((list.len(), list.skipped_total()), (1, 2));
    assert!(list.skipped()[0].to_string().starts_with("line 2: exit list names an address of this machine"));
    assert!(ExitList::parse("local://192.0.2.7").is_err());
}
