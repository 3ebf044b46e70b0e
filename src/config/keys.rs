//! What others say in Rust's words, in the words of the file: which key is meant, and how its cure is written.

/// Parts of cures that are not a setter's name alone.
const CURES: [(&str, &str); 9] = [
    ("by Gateway::field(\"CountryName\", ..)", "as `CountryName` under `fields`"),
    ("by Gateway::field", "under `fields`"),
    ("by Gateway::login", "by `user` and `password`"),
    ("to Builder::gateway by Gateway::parse", "as the `template` of a [pool.gateway]"),
    ("by Exit::local or Exit::parse, beside the list", "to a list of specs in the configuration itself"),
    ("Gateway::parse", "`template`"),
    ("Builder::exits", "`proxies`"),
    ("Pool::price", "`price_per_gb`"),
    ("Pool::interval", "`min_interval`"),
];
/// Types whose other setters are keys of the same name.
const TYPES: [&str; 5] = ["Gateway::", "Pool::", "Site::", "Builder::", "LeaseRequest::"];

/// What is said of a table's keys without their name, and which key it is: the first of these that is there.
const FAULTS: [(&str, &[&str]); 15] = [
    ("before a placeholder", &["template", "rotating"]),
    ("side by side", &["template", "rotating"]),
    ("in its password", &["template", "rotating"]),
    ("{CountryName}", &["country"]),
    ("country that", &["country"]),
    ("state or city", &["state", "city"]),
    ("city without", &["city"]),
    ("a state in another", &["state"]),
    ("a city in another", &["city"]),
    ("has a lifetime", &["ttl"]),
    ("keeps sessions", &["ttl"]),
    ("for that scheme", &["via"]),
    ("takes tokens", &["token_length"]),
    ("no such tokens", &["digits"]),
    ("user name", &["user"]),
];

/// A cure that names setters, with the keys instead.
pub(super) fn cure(said: &str) -> String {
    let mut cure = said.to_owned();
    for (rust, toml) in CURES {
        cure = cure.replace(rust, toml);
    }
    for rust in TYPES {
        while let Some(at) = cure.find(rust) {
            let name = &cure[at + rust.len()..];
            let end = name.find(|c: char| !(c.is_ascii_lowercase() || c == '_')).unwrap_or(name.len());
            let key = format!("`{}`", &name[..end]);
            cure.replace_range(at..at + rust.len() + end, &key);
        }
    }
    cure
}

/// The keys that a fault of a table may be one of, the likeliest first: what it is known by, then what it names in backticks.
pub(super) fn of_fault(fault: &str) -> Vec<String> {
    let known = FAULTS.iter().filter(|(said, _)| fault.contains(said)).flat_map(|(_, keys)| *keys);
    let mut keys: Vec<String> = known.map(|key| (*key).to_owned()).collect();
    for name in fault.split('`').skip(1).step_by(2) {
        match name.trim_matches(['{', '}']) {
            "pass" => keys.push("password".to_owned()),
            name => keys.extend([name.to_owned(), format!("fields.{name}")]),
        }
    }
    keys
}

#[test]
fn no_cure_is_left_in_rusts_words() {
    for (said, expected) in [
        ("give it by Gateway::login", "give it by `user` and `password`"),
        (
            "give it by Gateway::field, or correct the template",
            "give it under `fields`, or correct the template",
        ),
        ("give it by Gateway::ttl: how long", "give it by `ttl`: how long"),
        ("or Gateway::rotating if each", "or `rotating` if each"),
        ("say it by Gateway::lifetime, or write", "say it by `lifetime`, or write"),
        ("add Builder::exits, or Builder::gateway", "add `proxies`, or `gateway`"),
        ("give it to Builder::gateway by Gateway::parse", "give it as the `template` of a [pool.gateway]"),
        ("write [2001:db8::1]:8080", "write [2001:db8::1]:8080"),
    ] {
        assert_eq!(cure(said), expected);
    }
}
