//! The examples, run as programs.

mod agreement;
mod built;
mod failures;
mod fetch;
mod quickstart;
