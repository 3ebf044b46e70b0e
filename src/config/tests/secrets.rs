//! Secrets: where they come from, when they are none, and that nothing repeats them.

use super::{Config, ConfigError, SECRET, env, read, refused};
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn secrets_come_from_elsewhere() {
    let gateway = "[[pool]]\nname = 'resi'\n[pool.gateway]\ntemplate = { env = 'TEMPLATE' }\n";
    let lists = "[[pool]]\nname = 'a'\nproxies = { env = 'LIST' }\n[[pool]]\nname = 'b'\nproxies = [{ env = 'SPEC' }]";
    let config = read(&format!("{gateway}{lists}")).unwrap();
    assert!(config.warnings().is_empty(), "{:?}", config.warnings());
    let exits: Vec<_> = config.pools().iter().map(|pool| pool.exits.len()).collect();
    assert_eq!(exits, [0, 2, 1]);
    let password = |pool: usize| {
        config.pools()[pool].exits.iter().next()?.route().credential()?.password().to_owned().into()
    };
    assert_eq!((password(1), password(2)), (Some(SECRET.to_owned()), Some(SECRET.to_owned())));
    let shown = format!("{config:?}{config:#?}{config}{:?}", config.builder());
    assert!(!shown.contains(SECRET), "{shown}");
}

#[test]
fn a_secret_in_the_file_works_and_is_warned_of() {
    let text = format!(
        "[[pool]]\nname = 'a'\nproxies = ['http://u:{SECRET}@a.test:1', 'b.test:1']\n[[pool.gateway]]\n\
         template = 'http://u-{{session}}:{SECRET}@gw.example:7000'\n[[pool.gateway]]\nrotating = 'http://{{user}}-{{zone}}-{{api_key}}:{{pass}}@gw.example:1'\n\
         user = 'u'\npassword = '{SECRET}'\n[pool.gateway.fields]\nzone = 'dc'\napi_key = '{SECRET}'\n"
    );
    let config = read(&text).unwrap();
    let told: Vec<_> = config.warnings().iter().map(|warning| (warning.line(), warning.field())).collect();
    assert_eq!(
        told,
        [
            (Some(3), "pool[0].proxies[0]"),
            (Some(5), "pool[0].gateway[0].template"),
            (Some(9), "pool[0].gateway[1].password"),
            (Some(12), "pool[0].gateway[1].fields.api_key"),
        ]
    );
    let shown = format!("{config:?}{:?}{config}", config.warnings());
    assert!(!shown.contains(SECRET), "{shown}");
}

#[test]
fn no_error_repeats_a_secret_whatever_is_wrong() {
    let gateway = "[[pool]]\nname = 'resi'\n[pool.gateway]\n";
    for (text, expected) in [
        (
            "[[pool]]\nname = 'a'\nproxies = { env = 'BAD_LIST' }\nstrict = true".to_owned(),
            "3: pool[0].proxies has in line 2: proxy spec",
        ),
        (format!("[[pool]]\nname = 'a'\nproxies = ['a.test:1', 'u:{SECRET}@']"), "3: pool[0].proxies[1] "),
        (format!("[[pool]]\nname = 'a'\nproxies = '{SECRET}\n"), "3: config is not TOML"),
        (format!("[[pool]]\nname = 'a'\n{SECRET}\n"), "3: config is not TOML"),
        (format!("[[pool]]\nname = 'a'\nproxies = {SECRET}\n"), "3: config is not TOML"),
        (format!("[[pool]]\nname = 'a'\n{SECRET}:8080 = 1\n"), "3: config is not TOML"),
        (format!("[[pool]]\nname = 'a'\n'http://u:{SECRET}@a.test' = 1\n"), "3: pool[0] has no such key; "),
        (format!("[[pool]]\nname = 'a'\nweight = '{SECRET}'"), "3: pool[0].weight is not"),
        (format!("[[pool]]\nname = ['{SECRET}']"), "2: pool[0].name is not a text"),
        (format!("pool = '{SECRET}'"), "1: pool is not a list"),
        (format!("pool = ['{SECRET}, expected x']"), "1: pool[0] is not a table"),
        (format!("[retry]\npreset = '{SECRET}'"), "2: retry.preset is none of the known words; known are"),
        (format!("[client]\nconnect_timeout = '{SECRET}'"), "2: client.connect_timeout is no"),
        (
            format!("{gateway}template = {{ env = 'BAD_TEMPLATE' }}"),
            "4: pool[0].gateway.template has no {session}",
        ),
        (format!("{gateway}template = 'u:{SECRET}@'"), "4: pool[0].gateway.template "),
        (
            format!("{gateway}template = {{ env = 'NONE' }}"),
            "4: pool[0].gateway.template names the variable NONE, which is not set; ",
        ),
        (
            format!("{gateway}template = {{ env = 'BYTES' }}"),
            "4: pool[0].gateway.template names the variable BYTES, which is not UTF-8; ",
        ),
        (
            format!("{gateway}template = {{ file = 'none' }}"),
            "4: pool[0].gateway.template names conf/none, which cannot be read: ",
        ),
        (
            format!("{gateway}template = {{ evn = '{SECRET}' }}"),
            "4: pool[0].gateway.template has no key `evn`; did you mean `env`?",
        ),
        (
            format!("{gateway}template = {{ env = 'A', file = '{SECRET}' }}"),
            "4: pool[0].gateway.template names not one source",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\npassword = {{ file = 3 }}"),
            "5: pool[0].gateway.password.file is not a text",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\npassword = 3"),
            "5: pool[0].gateway.password is not a text in quotes, { env",
        ),
        (
            format!("{gateway}provider = 'x'\ntemplate = '{SECRET}'"),
            "3: pool[0].gateway names 2 gateways: `provider` and `template`; keep one of them",
        ),
        (
            format!("{gateway}user = '{SECRET}'"),
            "3: pool[0].gateway does not say which gateway it is; name one of ",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\nsessions = 70000"),
            "5: pool[0].gateway.sessions are 70000; ",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\nsessions = 0"),
            "5: pool[0].gateway.sessions is not a whole number from 1 ",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\ntoken_length = 3"),
            "5: pool[0].gateway.token_length is not 4 to 32; ",
        ),
        (
            format!("{gateway}template = {{ env = 'TEMPLATE' }}\nlifetime = '0s'"),
            "5: pool[0].gateway.lifetime is zero; ",
        ),
    ] {
        let shown = refused(&text);
        assert!(shown.starts_with(expected), "{text}\n  is: {shown}\nnot: {expected}");
    }
}

/// A folder with these files, a configuration beside them, and what was read of it.
fn beside(files: &[(&str, &str)], text: &str) -> Result<Config, ConfigError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("tower-egress-beside-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, content) in files {
        std::fs::write(folder.join(name), content).unwrap();
    }
    let config = Config::read(text, Some(&folder.join("egress.toml")), &env);
    std::fs::remove_dir_all(&folder).unwrap();
    config
}

#[test]
fn the_line_ends_at_the_end_of_a_secrets_file_are_not_the_secrets() {
    let text = "[[pool]]\nname = 'a'\nproxies = [{ file = 'spec' }]";
    for end in ["", "\n", "\r\n", "\n\n", "\r\n\r\n\n"] {
        let config = beside(&[("spec", &format!("http://u:{SECRET}@a.test:1{end}"))], text).unwrap();
        assert_eq!(config.pools()[0].exits().iter().next().unwrap().route().port(), 1, "{end:?}");
    }
    for wrong in ["\n#", "\t", "\u{7}"] {
        let error = beside(&[("spec", &format!("http://u:{SECRET}@a.test:1{wrong}"))], text).unwrap_err();
        let told = error.to_string();
        assert!(told.contains("egress.toml:3: pool[0].proxies[0] names "), "{told}");
        assert!(told.contains("spec, which holds a control character; ") && !told.contains(SECRET), "{told}");
    }
}

#[test]
fn an_empty_secret_is_none_wherever_it_may_stand() {
    let gateway = |rest: &str| format!("[[pool]]\nname = 'a'\n[pool.gateway]\n{rest}");
    let template = "template = 'http://{user}-{zone}-{session}:{pass}@gw.example:1'\nuser = 'u'\n";
    let login = |key: &str| (gateway(&format!("{template}{key} = ")), format!("6: pool[0].gateway.{key}"));
    let whole = |key: &str| (gateway(&format!("{key} = ")), format!("4: pool[0].gateway.{key}"));
    let user = gateway("provider = 'oxylabs'\npassword = 'p'\nuser = ");
    let list = |open: &str| format!("[[pool]]\nname = 'a'\nproxies = {open}");
    for (head, field) in [
        (user, "6: pool[0].gateway.user".to_owned()),
        login("password"),
        login("fields.zone"),
        whole("template"),
        whole("rotating"),
        (list("[\n"), "4: pool[0].proxies[0]".into()),
    ] {
        let close = if head.ends_with("[\n") { "]" } else { "" };
        for (value, what) in [
            ("''", "is empty; give it a value, or leave the key out"),
            ("' '", "is empty; "),
            ("{ env = 'EMPTY' }", "names the variable EMPTY, which is empty; "),
            ("{ env = 'BLANK' }", "names the variable BLANK, which is empty; "),
            ("{ env = 'LINES' }", "names the variable LINES, which holds a control character; "),
        ] {
            let told = refused(&format!("{head}{value}{close}"));
            assert!(told.starts_with(&format!("{field} {what}")), "{head}{value}: {told}");
        }
        for (content, what) in
            [("", "is empty; write"), ("\r\n\n", "is empty; "), ("a\nb", "holds a control ")]
        {
            let told =
                beside(&[("s", content)], &format!("{head}{{ file = 's' }}{close}")).unwrap_err().to_string();
            assert!(
                told.contains(&format!("{field} names ")) && told.contains(&format!("s, which {what}")),
                "{told}"
            );
        }
    }
    let told = refused(&list("{ env = 'EMPTY' }"));
    assert!(told.starts_with("3: pool[0].proxies names the variable EMPTY, which is empty; "), "{told}");
}
