//! What a misspelt name was meant to be.

/// The nearest of the known names, if it is near: one slip of the pen in four letters. Case does not matter.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let slips = |known: &str| strsim::osa_distance(&name.to_lowercase(), &known.to_lowercase());
    let near = known.into_iter().map(|known| (slips(known), known)).min_by_key(|(slips, _)| *slips);
    near.filter(|(slips, known)| *slips <= 1 + known.len().min(name.len()) / 4).map(|(_, known)| known)
}

#[test]
fn a_slip_or_two_is_near() {
    let known = ["country", "zone", "session", "brightdata-strict"];
    for (name, meant) in [
        ("contry", Some("country")),
        ("Country", Some("country")),
        ("zoen", Some("zone")),
        ("sesion", Some("session")),
        ("brightdata_strict", Some("brightdata-strict")),
        ("tier", None),
        ("", None),
    ] {
        assert_eq!(nearest(name, known), meant, "{name}");
    }
}
