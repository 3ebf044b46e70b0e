//! Names of origins, and what a request for a lease says.

use super::*;
use std::time::Duration;

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

#[test]
fn a07_a_lease_request_is_a_value_that_says_key_hold_and_site() {
    let age = |seconds| Granularity::Windowed { max_age: Some(Duration::from_secs(seconds)), max_uses: None };
    let plain = LeaseRequest::new("sku-42");
    assert_eq!((plain.key.as_str(), plain.granularity, &plain.origin), ("sku-42", age(600), &None));
    assert_eq!(
        (plain.affinity, plain.held_at(), plain.when_lost()),
        (Affinity::Key, Scope::PerOrigin, OnLoss::Move)
    );
    let changed = plain.clone().windowed(Duration::from_secs(60)).origin("Shop.Example");
    assert_eq!(
        (changed.granularity, changed.origin.as_ref().map(Origin::as_str)),
        (age(60), Some("shop.example"))
    );
    assert_eq!((plain.granularity, &plain.origin), (age(600), &None), "whoever has a copy changes it alone");
    assert_eq!(LeaseRequest::per_request().granularity, Granularity::PerRequest);
    let account = LeaseRequest::identity("account");
    assert_eq!((account.granularity, account.held_at()), (Granularity::Static, Scope::AllOrigins));
}
