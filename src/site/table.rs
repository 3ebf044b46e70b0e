//! The sites of a scheduler, by origin.

use super::Site;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// What holds where. An origin's own entry goes first, then that of the longest `*.` that covers it, then `*`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sites {
    own: HashMap<Box<str>, Arc<Site>>,
    /// By what follows the star, the dot included.
    below: HashMap<Box<str>, Arc<Site>>,
    all: Option<Arc<Site>>,
}

impl Sites {
    /// The later of two for one origin holds.
    pub(crate) fn insert(&mut self, origin: &str, site: Site) {
        let (name, site) = (origin.to_ascii_lowercase(), Arc::new(site));
        match name.strip_prefix('*') {
            Some("") => self.all = Some(site),
            Some(below) if below.starts_with('.') => {
                self.below.insert(below.into(), site);
            }
            _ => {
                self.own.insert(name.into(), site);
            }
        }
    }

    /// All of them, by the name that was given.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, &Arc<Site>)> {
        let own = self.own.iter().map(|(origin, site)| (Cow::from(&**origin), site));
        let below = self.below.iter().map(|(below, site)| (format!("*{below}").into(), site));
        own.chain(below).chain(self.all.iter().map(|site| ("*".into(), site)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.below.is_empty() && self.all.is_none()
    }

    /// What holds for an origin, given by its name.
    pub(crate) fn of(&self, origin: &str) -> Option<&Arc<Site>> {
        if self.own.is_empty() && self.below.is_empty() {
            return self.all.as_ref();
        }
        if let Some(own) = self.own.get(origin) {
            return Some(own);
        }
        let host = origin.split(':').next().unwrap_or(origin);
        let below = host.match_indices('.').find_map(|(at, _)| self.below.get(&host[at..]));
        below.or(self.all.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_closest_name_holds() {
        let mut sites = Sites::default();
        assert_eq!(sites.of("shop.example"), None);
        let names = ["*", "*.example", "*.Shop.example", "shop.example", "api.shop.example:8443"];
        for (quiet, name) in (1..).zip(names) {
            sites.insert(name, Site::new().quiet(Duration::from_secs(quiet)));
        }
        let quiet = |origin| sites.of(origin).unwrap().quiet.as_secs();
        for (origin, expected) in [
            ("other.test", 1),
            ("other.example", 2),
            ("a.b.shop.example", 3),
            ("www.shop.example:8080", 3),
            ("shop.example", 4),
            ("api.shop.example:8443", 5),
            ("xshop.example", 2),
        ] {
            assert_eq!(quiet(origin), expected, "{origin}");
        }
    }
}
