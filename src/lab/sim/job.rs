//! The work: jobs, and how they come.

use super::luck::{For, Luck};
use crate::draw::below;

/// One page to fetch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) id: u32,
    pub(super) origin: u32,
    /// The site refuses it through whatever exit.
    pub(super) poison: bool,
    /// Bytes of an attempt that is served, up and down.
    pub(super) up: u32,
    pub(super) down: u32,
}

/// How jobs come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Load {
    /// So many workers, each with one job at a time; they start 4 ms apart.
    Closed { workers: u32 },
    /// So many jobs a second at each origin, by chance, for so many seconds; for a while there may be more.
    Open { per_second: [f64; 2], seconds: f64, surge: Option<Surge> },
}

/// As many times more jobs, from then to then, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Surge {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) factor: f64,
}

impl Surge {
    /// When so much time would have passed, were there no more jobs in the surge: they come as much closer together.
    pub(super) fn at(self, steady: f64) -> f64 {
        let length = (self.to - self.from) * self.factor;
        let within = (steady - self.from).clamp(0.0, length);
        steady - within + within / self.factor
    }
}

/// How jobs are spread over origins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Spread {
    One,
    /// The k-th has 1 / k of the first one's.
    Zipf(u32),
}

impl Spread {
    pub(super) const fn origins(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Zipf(origins) => origins,
        }
    }

    fn of(self, luck: Luck, job: u32) -> u32 {
        let Self::Zipf(origins) = self else { return 0 };
        let weight = |k: u32| 1.0 / f64::from(k + 1);
        let mut at = luck.unit(For::Origin, &[job.into()]) * (0..origins).map(weight).sum::<f64>();
        for k in 0..origins {
            at -= weight(k);
            if at < 0.0 {
                return k;
            }
        }
        origins - 1
    }
}

impl Job {
    pub(super) fn new(luck: Luck, id: u32, spread: Spread, poison: f64) -> Self {
        Self::at(luck, id, spread.of(luck, id), poison)
    }

    /// Up 500 B to 10 kB; down log-normal with a median of 60 kB.
    pub(super) fn at(luck: Luck, id: u32, origin: u32, poison: f64) -> Self {
        let key = &[u64::from(id)];
        let up = 500 + below(luck.draw(For::Size, key), 9_500) as u32;
        let down = 60_000.0 * libm::exp(luck.normal((For::Size, For::SizeAngle), key));
        let poison = luck.chance(poison, For::Poison, key);
        Self { id, origin, poison, up, down: down.min(5e7) as u32 }
    }
}
