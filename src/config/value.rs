//! What a key's value may look like where TOML's own types do not say it.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// A time span: `"30s"`, `"10m"`, `"1h 30m"`, `"250ms"`.
#[derive(Clone, Copy)]
pub(super) struct Span(pub(super) Duration);

/// Longer than any of it makes sense for, and far from where clocks overflow.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Spans;
        impl Visitor<'_> for Spans {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time span in quotes, like \"30s\", \"10m\" or \"250ms\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
                let wrong = "is no time span; write it like \"30s\", \"10m\" or \"250ms\"";
                let span = humantime::parse_duration(text).map_err(|_| E::custom(wrong))?;
                if span > LONGEST {
                    return Err(E::custom("is longer than 100 years; write what is meant"));
                }
                Ok(Span(span))
            }
        }
        deserializer.deserialize_str(Spans)
    }
}

/// A text, in the file or elsewhere.
pub(super) enum Text {
    Literal(String),
    /// In that variable of the environment.
    Env(String),
    /// In that file.
    File(String),
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a text in quotes, { env = \"NAME\" } or { file = \"PATH\" }")]
struct Elsewhere {
    env: Option<String>,
    file: Option<String>,
}

impl Text {
    fn elsewhere<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        match Elsewhere::deserialize(MapAccessDeserializer::new(map))? {
            Elsewhere { env: Some(name), file: None } => Ok(Self::Env(name)),
            Elsewhere { env: None, file: Some(path) } => Ok(Self::File(path)),
            _ => {
                Err(A::Error::custom("names not one source; write { env = \"NAME\" } or { file = \"PATH\" }"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text in quotes, { env = \"NAME\" } or { file = \"PATH\" }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::Literal(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Text, A::Error> {
                Text::elsewhere(map)
            }
        }
        deserializer.deserialize_any(Texts)
    }
}

/// A pool's proxies.
pub(super) enum Proxies {
    /// A file of specs.
    Path(String),
    /// A text of specs, elsewhere.
    Text(Text),
    /// Specs.
    List(Vec<Text>),
}

impl<'de> Deserialize<'de> for Proxies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Proxies;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a file's path, a list of specs, or { env = \"NAME\" }")
            }

            fn visit_str<E: Error>(self, path: &str) -> Result<Proxies, E> {
                Ok(Proxies::Path(path.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Proxies, A::Error> {
                Ok(match Text::elsewhere(map)? {
                    Text::File(path) => Proxies::Path(path),
                    text => Proxies::Text(text),
                })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Proxies, A::Error> {
                all(seq).map(Proxies::List)
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

/// One table, or a list of them.
pub(super) enum Tables<T> {
    One(T),
    Many(Vec<T>),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Tables<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Visit<T> {
            type Value = Tables<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table, or a list of tables")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Tables<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Tables::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Tables<T>, A::Error> {
                all(seq).map(Tables::Many)
            }
        }
        deserializer.deserialize_any(Visit(PhantomData))
    }
}

fn all<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(mut seq: A) -> Result<Vec<T>, A::Error> {
    let mut elements = Vec::new();
    while let Some(element) = seq.next_element()? {
        elements.push(element);
    }
    Ok(elements)
}
