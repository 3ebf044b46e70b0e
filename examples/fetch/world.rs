//! Where the pages are and how to get there: real exits, or the lab.

use crate::args::Args;
use crate::{BadInput, configured, input};
use http::Uri;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tower::Layer;
use tower_egress::exit::{ProxyTls, Via};
use tower_egress::lab::{Behaviour, Lab, LabBuilder, Provider, Reply};
use tower_egress::scheduler::Builder;
use tower_egress::{
    Config, ConfigError, EgressClient, EgressLayer, ExitClient, ExitList, Gateway, LeaseRequest, Scheduler,
};

pub(crate) struct World {
    pub(crate) scheduler: Scheduler,
    pub(crate) client: EgressClient,
    pub(crate) exits: ExitList,
    pub(crate) gateways: Vec<Gateway>,
    pub(crate) urls: Vec<Uri>,
    /// The file that said all this.
    pub(crate) config: Option<Configured>,
    /// Keeps the lab alive.
    pub(crate) lab: Option<Lab>,
}

/// A file, as it was at first and as it was taken over at last.
pub(crate) struct Configured {
    pub(crate) path: PathBuf,
    pub(crate) first: Config,
    pub(crate) last: Config,
}

/// What tells a gateway with sessions from one that rotates by itself.
const SESSION: &str = "{session}";
/// Pages of the lab.
const PAGES: usize = 400;
const SEED: u64 = 42;
/// Addresses of the lab's gateway.
const ADDRESSES: u16 = 1_000;
/// Of the lab's gateway, each address whose number is a multiple of this is refused by the site.
const REFUSED: usize = 10;
/// How long the lab's slow exits take over a request.
const SLOW: Duration = Duration::from_millis(400);

impl World {
    pub(crate) async fn of(args: &Args) -> Result<Self, BadInput> {
        if args.is_lab() {
            return Self::in_the_lab(args).await;
        }
        if let Some(path) = &args.config {
            return Self::configured(path, input::urls(args)?);
        }
        let holds_nothing = |gateway: &String| !has_sessions(gateway);
        if args.hold.is_some() && args.proxies.is_none() && args.gateway.iter().all(holds_nothing) {
            let what = "--hold: a gateway without {session} rotates by itself, so nothing can be held";
            return Err(BadInput(what.into()));
        }
        let urls = input::urls(args)?;
        let exits = match &args.proxies {
            Some(path) => input::exits(path)?,
            None => ExitList::default(),
        };
        let gateways = gateways(&args.gateway, args)?;
        let world = Self::build(args, exits, gateways, urls, args.seed, None)?;
        tell_rotating(args, &world.gateways);
        Ok(world)
    }

    async fn in_the_lab(args: &Args) -> Result<Self, BadInput> {
        let via = args.via.into();
        let lab = if args.lab_gateway { with_gateway(via) } else { with_exits(via) }.start().await?;
        for gateway in lab.gateways() {
            let refused = (0..usize::from(ADDRESSES)).step_by(REFUSED);
            refused.for_each(|at| lab.origin().ban(gateway.egress(at)));
        }
        lab.origin().respond(|seen| Reply::page(format!("price list {}\n", seen.path()).repeat(50)));
        // Where names are looked up here nobody knows the lab's.
        let url = |path: &str| if via == Via::Socks5 { lab.direct_url(path) } else { lab.url(path) };
        let urls = (1..=PAGES).map(|page| url(&format!("/p/{page}")).parse()).collect::<Result<_, _>>()?;
        let templates: Vec<_> = lab.gateways().iter().map(|gateway| gateway.template()).collect();
        let gateways = gateways(&templates, args)?;
        Self::build(args, lab.exits(), gateways, urls, args.seed.or(Some(SEED)), Some(lab))
    }

    fn build(
        args: &Args,
        exits: ExitList,
        gateways: Vec<Gateway>,
        urls: Vec<Uri>,
        seed: Option<u64>,
        lab: Option<Lab>,
    ) -> Result<Self, BadInput> {
        let builder = Scheduler::builder().exits(exits.clone());
        let mut builder = gateways.iter().cloned().fold(builder, Builder::gateway);
        if let Some(seed) = seed {
            builder = builder.seed(seed);
        }
        let scheduler = builder.build()?;
        let stack = EgressLayer::new(&scheduler).layer(exit_client(args, lab.as_ref())?);
        Ok(Self { scheduler, client: EgressClient::of(stack), exits, gateways, urls, config: None, lab })
    }

    fn configured(path: &Path, urls: Vec<Uri>) -> Result<Self, BadInput> {
        let config = configured::read(path)?;
        configured::tell(&config);
        let scheduler = config.builder().build()?;
        let stack = config.egress_layer(&scheduler).layer(config.client().build()?);
        let exits = config.pools().iter().flat_map(|pool| pool.exits().clone()).collect();
        let gateways = config.pools().iter().flat_map(|pool| pool.gateways().to_vec()).collect();
        let config = Some(Configured { path: path.to_owned(), first: config.clone(), last: config });
        Ok(Self { scheduler, client: EgressClient::of(stack), exits, gateways, urls, config, lab: None })
    }
}

fn exit_client(args: &Args, lab: Option<&Lab>) -> Result<ExitClient, BadInput> {
    let read = |option, path: &Path| input::read(path).map_err(|what| BadInput(format!("{option} {what}")));
    let no_roots =
        |option, path: &Path, what: ConfigError| BadInput(format!("{option} {}: {what}", path.display()));
    let mut client = ExitClient::builder();
    if let Some(path) = &args.proxy_roots {
        let tls = ProxyTls::builder().roots_pem(read("--proxy-roots", path)?.as_bytes()).build();
        client = client.proxy_tls(&tls.map_err(|what| no_roots("--proxy-roots", path, what))?);
    }
    if let Some(lab) = lab {
        client = client.proxy_tls(&ProxyTls::builder().roots_pem(lab.ca_pem().as_bytes()).build()?);
    }
    if let Some(path) = &args.roots {
        client = client.roots_pem(read("--roots", path)?.as_bytes());
    }
    client.build().map_err(|error| match &args.roots {
        Some(path) => no_roots("--roots", path, error),
        None => error.into(),
    })
}

fn with_exits(via: Via) -> LabBuilder {
    Lab::builder().via(via).fine(24).refused(8).dead(4).exits(4, Behaviour::slow(SLOW))
}

fn with_gateway(via: Via) -> LabBuilder {
    Lab::builder().gateway(Provider::sessions().via(via).addresses(ADDRESSES))
}

/// The message of a gateway that cannot be used says which one, and does not repeat it.
fn gateways(given: &[String], args: &Args) -> Result<Vec<Gateway>, BadInput> {
    let sessions = args.sessions.and_then(NonZeroU32::new);
    let read = |text: &String| match has_sessions(text) {
        true => Gateway::parse(text).map(|gateway| sessions.into_iter().fold(gateway, Gateway::sessions)),
        false => Gateway::rotating(text),
    };
    // What is wrong with a template's values shows when it is built: alone, so that the message can say which one it was.
    let check = |gateway: Gateway| Scheduler::builder().gateway(gateway.clone()).build().map(|_| gateway);
    let named =
        |(at, text)| read(text).and_then(check).map_err(|error| BadInput(format!("--gateway {at}: {error}")));
    (1..).zip(given).map(named).collect()
}

/// Whether each token, or each port of a range, is a session.
fn has_sessions(gateway: &str) -> bool {
    let range = |part: &str| {
        part.split_once('-')
            .is_some_and(|(first, last)| first.parse::<u16>().is_ok() && last.parse::<u16>().is_ok())
    };
    let address = gateway.rsplit('@').next().unwrap_or_default();
    gateway.contains(SESSION) || address.split(':').skip(1).any(range)
}

/// A forgotten placeholder or port is a guess that shows in no answer, but on the bill.
fn tell_rotating(args: &Args, gateways: &[Gateway]) {
    for (at, (text, gateway)) in (1..).zip(args.gateway.iter().zip(gateways)) {
        if !has_sessions(text) {
            let (host, port) = (gateway.host(), gateway.port());
            eprintln!(
                "fetch: --gateway {at} has no {SESSION} in its login, so {host} at port {port} is taken to rotate by itself; if \
                 it has sessions, write {SESSION} where the provider wants the token"
            );
        }
    }
}

/// What a worker asks for.
pub(crate) fn lease(world: &World, args: &Args, worker: usize) -> LeaseRequest {
    if let Some(Configured { first, .. }) = &world.config {
        return first.lease(format!("worker-{worker}"));
    }
    let ask = match args.hold {
        Some(seconds) => {
            LeaseRequest::new(format!("worker-{worker}")).windowed(Duration::from_secs(seconds.into()))
        }
        None => LeaseRequest::per_request(),
    };
    ask.deadline(Duration::from_secs(args.deadline.into()))
}
