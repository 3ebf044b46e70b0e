//! Names of origins.

use super::*;

#[test]
fn an_origin_is_a_host_with_a_port_that_is_not_the_schemes_own() {
    for (uri, expected) in [
        ("https://Shop.Example/p", Some("shop.example")),
        ("http://shop.example:80/", Some("shop.example")),
        ("https://shop.example.:443/", Some("shop.example")),
        ("https://shop.example:80/", Some("shop.example:80")),
        ("http://shop.example:8080", Some("shop.example:8080")),
        ("http://[2001:DB8::1]:8080/", Some("[2001:db8::1]:8080")),
        ("/only/a/path", None),
    ] {
        let origin = Origin::of(&uri.parse().unwrap());
        assert_eq!(origin.as_ref().map(Origin::as_str), expected, "{uri}");
    }
}
