//! Classes of requests: whose turn it is where many wait.

use super::Key;
use crate::error::ConfigError;

/// Most classes.
const MOST: usize = 16;
/// The highest weight.
const HEAVIEST: u32 = 1_000;
/// The class of requests that name none.
const DEFAULT: &str = "default";

/// Classes and their weights. Empty if none was declared; else the default one is among them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Classes(Vec<(Key, u32)>);

impl Classes {
    pub(crate) fn add(&mut self, name: Key, weight: u32) {
        self.0.push((name, weight));
    }

    /// # Errors
    /// Too many, one without a name or twice, a weight out of range.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.0.len() > MOST {
            let what = format!("are {}", self.0.len());
            return Err(ConfigError::new("classes", what, "declare at most 16"));
        }
        for (at, (name, weight)) in self.0.iter().enumerate() {
            if name.as_str().is_empty() {
                return Err(ConfigError::new("classes", "hold one without a name", "give it one"));
            }
            if self.0[..at].iter().any(|(before, _)| before == name) {
                return Err(ConfigError::new(
                    "classes",
                    format!("hold `{name}` twice"),
                    "say its weight once",
                ));
            }
            if !(1..=HEAVIEST).contains(weight) {
                let what = format!("give `{name}` the weight {weight}");
                return Err(ConfigError::new("classes", what, "give each a weight from 1 to 1,000"));
            }
        }
        Ok(())
    }

    /// With the default class among them, if there are any.
    pub(crate) fn with_default(mut self) -> Self {
        if !self.0.is_empty() && !self.names().any(|name| name == DEFAULT) {
            self.add(DEFAULT.into(), 1);
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Which class it is, `None` being the default one. Where none was declared there is that alone, the first.
    pub(crate) fn find(&self, name: Option<&Key>) -> Option<usize> {
        let name = name.map_or(DEFAULT, Key::as_str);
        if self.is_empty() {
            return (name == DEFAULT).then_some(0);
        }
        self.names().position(|known| known == name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, u32)> {
        self.0.iter().map(|(name, weight)| (name, *weight))
    }

    pub(crate) fn weights(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(_, weight)| *weight)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}
