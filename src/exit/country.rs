//! Countries: two letters, and the names that some providers want instead.

/// ISO 3166-1 alpha-2.
const CODES: &str = "ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw by bz \
    ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et fi fj fk fm fo fr ga gb gd ge \
    gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp \
    kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf \
    ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn \
    so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu wf ws xk ye yt \
    za zm zw";

/// Names without spaces, for `{CountryName}`. Where providers may well spell one in another way it is left out.
const NAMES: &[(&str, &str)] = &[
    ("ae", "UnitedArabEmirates"),
    ("ar", "Argentina"),
    ("at", "Austria"),
    ("au", "Australia"),
    ("bd", "Bangladesh"),
    ("be", "Belgium"),
    ("bg", "Bulgaria"),
    ("br", "Brazil"),
    ("ca", "Canada"),
    ("ch", "Switzerland"),
    ("cl", "Chile"),
    ("cn", "China"),
    ("co", "Colombia"),
    ("de", "Germany"),
    ("dk", "Denmark"),
    ("ec", "Ecuador"),
    ("ee", "Estonia"),
    ("eg", "Egypt"),
    ("es", "Spain"),
    ("fi", "Finland"),
    ("fr", "France"),
    ("gb", "UnitedKingdom"),
    ("gr", "Greece"),
    ("hk", "HongKong"),
    ("hr", "Croatia"),
    ("hu", "Hungary"),
    ("id", "Indonesia"),
    ("ie", "Ireland"),
    ("il", "Israel"),
    ("in", "India"),
    ("it", "Italy"),
    ("jp", "Japan"),
    ("ke", "Kenya"),
    ("lt", "Lithuania"),
    ("lv", "Latvia"),
    ("ma", "Morocco"),
    ("mx", "Mexico"),
    ("my", "Malaysia"),
    ("ng", "Nigeria"),
    ("nl", "Netherlands"),
    ("no", "Norway"),
    ("nz", "NewZealand"),
    ("pe", "Peru"),
    ("ph", "Philippines"),
    ("pk", "Pakistan"),
    ("pl", "Poland"),
    ("pt", "Portugal"),
    ("ro", "Romania"),
    ("rs", "Serbia"),
    ("sa", "SaudiArabia"),
    ("se", "Sweden"),
    ("sg", "Singapore"),
    ("si", "Slovenia"),
    ("sk", "Slovakia"),
    ("th", "Thailand"),
    ("tn", "Tunisia"),
    ("tw", "Taiwan"),
    ("ua", "Ukraine"),
    ("us", "UnitedStates"),
    ("vn", "Vietnam"),
    ("za", "SouthAfrica"),
];

/// Whether these two lower-case letters are a country.
pub(super) fn is(code: &str) -> bool {
    code.len() == 2 && CODES.split_ascii_whitespace().any(|known| known == code)
}

/// Its name without spaces, each word with a capital.
pub(super) fn name(code: &str) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

#[test]
fn every_name_is_a_countrys() {
    assert_eq!(CODES.split_ascii_whitespace().count(), 250, "249, and Kosovo's by custom");
    assert!(CODES.split_ascii_whitespace().is_sorted_by(|a, b| a < b));
    assert!(NAMES.iter().all(|(code, _)| is(code)) && NAMES.is_sorted());
    assert!(is("gb") && !is("uk") && !is("zz") && !is("us ") && !is(""));
    assert_eq!((name("us"), name("kr")), (Some("UnitedStates"), None));
}
