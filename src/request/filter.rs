//! Which pools a request wants.

use std::sync::Arc;

/// What a request wants of an exit: one of these pools, a country, a kind. What is not said does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Filter {
    pub(crate) pools: Vec<Arc<str>>,
    pub(crate) country: Option<Arc<str>>,
    pub(crate) kind: Option<Arc<str>>,
}
