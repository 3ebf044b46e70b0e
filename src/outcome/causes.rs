//! What stands behind an error.

use std::error::Error;
use std::io;

/// Longest chain that is followed: an error may name itself as its source.
const MOST: usize = 64;

/// An error and all its causes. Within an `io::Error` too: its `source` is that of the error it was made from, which itself
/// is left out.
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| next(*error)).take(MOST)
}

fn next<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(within) => Some(within),
        None => error.source(),
    }
}
