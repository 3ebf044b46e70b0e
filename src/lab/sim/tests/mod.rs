//! That a world is what it says, and the same for everybody, and a figure of a run what it says; that the designs do what they are said to do.

mod article_a;
mod article_b;
mod backoffs;
mod classes;
mod compare;
mod crawlee;
mod gateways;
mod golden;
mod hand;
mod lists;
mod policies;
mod reference;
mod replay;
mod trouble;

use super::*;
use hand::*;
