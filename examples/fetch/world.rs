//! Where the pages are and how to get there: real exits, or the lab.

use crate::BadInput;
use crate::args::Args;
use crate::input;
use http::Uri;
use std::time::Duration;
use tower::Layer;
use tower_egress::lab::{Lab, Reply};
use tower_egress::{EgressClient, EgressLayer, ExitClient, ExitList, LeaseRequest, Scheduler};

pub(crate) struct World {
    pub(crate) scheduler: Scheduler,
    pub(crate) client: EgressClient,
    pub(crate) exits: ExitList,
    pub(crate) urls: Vec<Uri>,
    /// Keeps the lab alive.
    pub(crate) lab: Option<Lab>,
}

/// Pages of the lab.
const PAGES: usize = 400;
const SEED: u64 = 42;
/// How long the lab's slow exits take over a request.
const SLOW: Duration = Duration::from_millis(400);

impl World {
    pub(crate) async fn of(args: &Args) -> Result<Self, BadInput> {
        let Some(path) = &args.proxies else { return Self::in_the_lab(args).await };
        let urls = input::urls(args)?;
        let exits = ExitList::from_path(path)?;
        Self::build(args, exits, urls, args.seed, None)
    }

    async fn in_the_lab(args: &Args) -> Result<Self, BadInput> {
        let slow = tower_egress::lab::Behaviour::slow(SLOW);
        let lab = Lab::builder().fine(24).refused(8).dead(4).exits(4, slow).start().await?;
        lab.origin().respond(|seen| Reply::page(format!("price list {}\n", seen.path()).repeat(50)));
        let urls =
            (1..=PAGES).map(|page| lab.url(&format!("/p/{page}")).parse()).collect::<Result<_, _>>()?;
        let exits = lab.exits();
        Self::build(args, exits, urls, args.seed.or(Some(SEED)), Some(lab))
    }

    fn build(
        args: &Args,
        exits: ExitList,
        urls: Vec<Uri>,
        seed: Option<u64>,
        lab: Option<Lab>,
    ) -> Result<Self, BadInput> {
        let mut builder = Scheduler::builder().exits(exits.clone());
        if let Some(seed) = seed {
            builder = builder.seed(seed);
        }
        let scheduler = builder.build()?;
        let mut client = ExitClient::builder();
        if let Some(path) = &args.roots {
            let named = |what| BadInput(format!("--roots {what}"));
            client = client.roots_pem(input::read(path).map_err(named)?.as_bytes());
        }
        let client = client.build().map_err(|error| match &args.roots {
            Some(path) => BadInput(format!("--roots {}: {error}", path.display())),
            None => error.into(),
        })?;
        let stack = EgressLayer::new(&scheduler).layer(client);
        Ok(Self { scheduler, client: EgressClient::of(stack), exits, urls, lab })
    }
}

/// What a worker asks for.
pub(crate) fn lease(args: &Args, worker: usize) -> LeaseRequest {
    let ask = match args.hold {
        Some(seconds) => {
            LeaseRequest::new(format!("worker-{worker}")).windowed(Duration::from_secs(seconds.into()))
        }
        None => LeaseRequest::per_request(),
    };
    ask.deadline(Duration::from_secs(args.deadline.into()))
}
