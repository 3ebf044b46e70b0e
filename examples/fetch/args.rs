//! The command line.

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, ValueEnum};
use std::path::{Path, PathBuf};
use tower_egress::exit;

/// Fetches pages through a pool of proxy exits, and never without one.
///
/// Without --proxies, --gateway and --config it starts a lab on loopback, where 16 of 40 exits misbehave, and fetches 400 pages from
/// it; with --lab-gateway through a gateway, some of whose sessions the site refuses.
///
/// A page counts as fetched if the site answered for good: 404 and 410 are answers too. One whose body broke is asked for
/// again, at most twice.
///
/// Exit status: 0 all pages fetched, or all failures healed, 1 some not, or results could not be written, 2 bad input, 130 interrupted.
#[derive(Parser, Clone, Debug)]
#[command(name = "fetch", disable_version_flag = true)]
pub(crate) struct Args {
    /// Exits, one proxy spec a line: host:port, host:port:user:password or scheme://user:password@host:port (http, https,
    /// socks5h, socks5, socks4a, socks4); host:1000-1999 is an exit for each port. `-`
    /// reads standard input. Lines that cannot be read are told and left out
    #[arg(long, value_name = "FILE", help_heading = "What to fetch")]
    pub(crate) proxies: Option<PathBuf>,

    /// A provider's gateway, with {session} where it wants the session token, or with a range of ports each of which is a
    /// session; without either it rotates by itself. More than one may be given, and beside --proxies
    #[arg(long, value_name = "URL", help_heading = "What to fetch")]
    pub(crate) gateway: Vec<String>,

    /// Goes the way that a configuration file says (TOML): pools, gateways, sites, limits. SIGHUP reads it again: exits that
    /// stay keep what is known of them, and a file that cannot be read, or with more broken lines in its lists, changes nothing.
    /// Requests, classification and client stay as they were at the start
    #[arg(long, value_name = "FILE", help_heading = "What to fetch",
          conflicts_with_all = ["proxies", "gateway", "sessions", "lab_gateway", "via", "hold", "deadline", "roots", "proxy_roots", "seed"])]
    pub(crate) config: Option<PathBuf>,

    /// Fetches nothing, but reads the configuration file with all that it points to, and says what it means; exit status 1 if
    /// it cannot be used
    #[arg(long, requires = "config", conflicts_with_all = ["urls", "url", "output"], help_heading = "What to fetch")]
    pub(crate) check: bool,

    /// URLs, one a line; `-` reads standard input. Empty lines and lines that begin with # are skipped
    #[arg(long, value_name = "FILE", help_heading = "What to fetch")]
    pub(crate) urls: Option<PathBuf>,

    /// URLs
    #[arg(value_name = "URL")]
    pub(crate) url: Vec<String>,

    /// Fetches nothing, but shows in the lab how nine failures happen and heal, and what each costs: a dead exit, a 403, a 429, a site
    /// that is down, one that limits each exit, parked requests, a gateway that is overloaded (503) or says when it will not be
    /// (429), and a wrong password
    #[arg(long, exclusive = true, help_heading = "What to fetch")]
    pub(crate) failures: bool,

    /// Appends results as JSON Lines, each on its way before the next page is counted; `-` is standard output, the default outside the lab
    #[arg(long, value_name = "FILE", help_heading = "What to keep")]
    pub(crate) output: Option<PathBuf>,

    /// Keeps each page's text in its result
    #[arg(long, help_heading = "What to keep")]
    pub(crate) body: bool,

    /// Most bytes of one page; the rest is not read
    #[arg(long, value_name = "BYTES", default_value_t = 10 << 20, help_heading = "What to keep")]
    pub(crate) max_body: u64,

    /// Pages fetched at once
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=4096),
          help_heading = "How to fetch")]
    pub(crate) concurrency: u16,

    /// Lets each worker hold an exit per site for so long; without it every request takes another exit
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..), help_heading = "How to fetch")]
    pub(crate) hold: Option<u32>,

    /// Sessions of each gateway that requests share which hold no exit; 256, or all ports of a shorter range
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536),
          help_heading = "How to fetch")]
    pub(crate) sessions: Option<u32>,

    /// Without --proxies and --gateway: goes through a gateway of the lab instead of a list of its exits
    #[arg(long, conflicts_with_all = ["proxies", "gateway"], help_heading = "How to fetch")]
    pub(crate) lab_gateway: bool,

    /// Without --proxies and --gateway: what kind of proxies the lab's exits are
    #[arg(long, value_enum, value_name = "KIND", default_value_t = Via::Http, conflicts_with_all = ["proxies", "gateway"],
          help_heading = "How to fetch")]
    pub(crate) via: Via,

    /// Most time for one page, all attempts and waits up to its head
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..),
          help_heading = "How to fetch")]
    pub(crate) deadline: u32,

    /// Trusts these roots for sites instead of the platform's
    #[arg(long, value_name = "PEM", help_heading = "How to fetch")]
    pub(crate) roots: Option<PathBuf>,

    /// Trusts these roots for https:// proxies instead of the platform's
    #[arg(long, value_name = "PEM", help_heading = "How to fetch")]
    pub(crate) proxy_roots: Option<PathBuf>,

    /// Repeats the choices of an earlier run; the lab's default is 42
    #[arg(long, value_name = "N", help_heading = "How to fetch")]
    pub(crate) seed: Option<u64>,
}

/// A kind of proxy, by the scheme of its spec.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Via {
    Http,
    Https,
    Socks5h,
    Socks5,
}

impl From<Via> for exit::Via {
    fn from(via: Via) -> Self {
        match via {
            Via::Http => Self::Http,
            Via::Https => Self::Https,
            Via::Socks5h => Self::Socks5h,
            Via::Socks5 => Self::Socks5,
        }
    }
}

impl Args {
    /// Leaves the program with status 2 and a message if the line cannot be read.
    pub(crate) fn read() -> Self {
        let args = Self::parse();
        if args.is_lab() && !(args.urls.is_none() && args.url.is_empty()) {
            let what = "URLs need a way out: --proxies FILE, or --gateway URL, or --config FILE";
            Self::command().error(ErrorKind::MissingRequiredArgument, what).exit();
        }
        let is_stdin = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
        if is_stdin(&args.proxies) && is_stdin(&args.urls) {
            let what = "--proxies and --urls cannot both read standard input";
            Self::command().error(ErrorKind::ArgumentConflict, what).exit();
        }
        args
    }

    /// Whether there is nothing real to go through.
    pub(crate) fn is_lab(&self) -> bool {
        self.proxies.is_none() && self.gateway.is_empty() && self.config.is_none()
    }
}
