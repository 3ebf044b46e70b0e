//! The examples, run as programs.

mod built;
mod fetch;
mod quickstart;
