//! That a world is what it says, and the same for everybody; and that the designs do what they are said to do.

mod article_a;
mod article_b;
mod backoffs;
mod crawlee;
mod hand;
mod lists;
mod policies;

use super::*;
use hand::*;
