//! The examples, run as programs.

mod agreement;
mod built;
mod configured;
mod failures;
mod fetch;
mod outbound;
mod parked;
mod prices_and_crawl;
mod program;
mod quickstart;
mod quotes;
mod simulate;
