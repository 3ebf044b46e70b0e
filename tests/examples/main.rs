//! The examples, run as programs.

mod agreement;
mod built;
mod fetch;
mod quickstart;
