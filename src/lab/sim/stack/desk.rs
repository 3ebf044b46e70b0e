//! What all tasks share: the world, the work, and the books.

use crate::lab::lock::Lock;
use crate::lab::sim::contender::{MOST_SENDS, Next, Why};
use crate::lab::sim::job::{Job, Load};
use crate::lab::sim::journal::{Entry, Journal, What};
use crate::lab::sim::luck::Luck;
use crate::lab::sim::metrics::{Metrics, Run};
use crate::lab::sim::scenario::Scenario;
use crate::lab::sim::world::{Answer, Attempt, Leg, Truth, World};
use crate::request::Time;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// A handle on them. A clone is another one.
#[derive(Clone)]
pub(super) struct Desk(Arc<Inner>);

struct Inner {
    /// [`Time::ZERO`].
    start: Instant,
    closed: bool,
    /// Of one job.
    most_sends: u32,
    over: Notify,
    books: Lock<Books>,
}

struct Books {
    world: World,
    jobs: Vec<Known>,
    /// The next one that nobody has taken up.
    fresh: u32,
    /// Put aside, and due.
    due: VecDeque<u32>,
    idle: u32,
    over: usize,
    metrics: Option<Metrics>,
    journal: Journal,
}

struct Known {
    job: Job,
    began: Option<Time>,
    /// Since when no attempt of it is under way, and for how long that was so before.
    idle: Option<Time>,
    waited: Duration,
    sent: u32,
    waits: bool,
    under_way: bool,
    /// What became of its last attempt.
    truth: Truth,
}

impl Desk {
    #[expect(clippy::disallowed_methods, reason = "where the world's clock starts")]
    pub(super) fn new(scenario: &Scenario, policy: &'static str, seed: u64) -> Self {
        let luck = Luck::new(seed);
        let metrics = Metrics::new(scenario, policy, seed);
        let known = |(job, _)| {
            let (truth, waited) = (Truth::Unreached, Duration::ZERO);
            Known { job, began: None, idle: None, waited, sent: 0, waits: false, under_way: false, truth }
        };
        let books = Books {
            world: World::new(scenario, luck),
            jobs: scenario.work(luck).into_iter().map(known).collect(),
            fresh: 0,
            due: VecDeque::new(),
            idle: 0,
            over: 0,
            metrics: Some(metrics),
            journal: Journal::keeping(cfg!(test)),
        };
        let closed = matches!(scenario.load, Load::Closed { .. });
        let (start, over, books) = (Instant::now(), Notify::new(), Lock::new(books));
        let most_sends = scenario.sends.unwrap_or(MOST_SENDS);
        Self(Arc::new(Inner { start, closed, most_sends, over, books }))
    }

    pub(super) fn now(&self) -> Time {
        Time::ZERO + self.0.start.elapsed()
    }

    pub(super) fn instant(&self, at: Time) -> Instant {
        let far = Duration::from_secs(86_400 * 365);
        self.0.start + at.since(Time::ZERO).min(far)
    }

    pub(super) fn time(&self, at: std::time::Instant) -> Time {
        Time::ZERO + Instant::from_std(at).saturating_duration_since(self.0.start)
    }

    /// Waits until all jobs are over, or the horizon is passed: what happens in its millisecond counts.
    pub(super) async fn is_over(&self, horizon: Duration) {
        let passed = self.0.start + horizon + Duration::from_millis(1);
        let _ = timeout_at(passed, self.0.over.notified()).await;
    }

    pub(super) fn end(&self, horizon: Duration) -> (Run, Vec<Entry>) {
        let mut books = self.0.books.lock();
        let Some(metrics) = books.metrics.take() else { return Default::default() };
        // What rests and what the lane admits is not told through the layers.
        let mut run = metrics.end(self.now().min(Time::ZERO + horizon), &books.world, |_| None);
        (run.decisions, run.log) = (books.journal.entries(), books.journal.digest());
        (run, books.journal.kept.take().unwrap_or_default())
    }

    fn with<T>(&self, job: u32, look: impl FnOnce(&mut Books, Time, &Job) -> T) -> T {
        let now = self.now();
        let mut books = self.0.books.lock();
        books.world.turn(now);
        let job = books.jobs[job as usize].job;
        look(&mut books, now, &job)
    }

    /// The next job for a free worker: one that was put aside and is due, else a fresh one.
    pub(super) fn take_up(&self) -> Option<u32> {
        let mut books = self.0.books.lock();
        let next = books.due.pop_front().or_else(|| {
            let fresh = (self.0.closed && (books.fresh as usize) < books.jobs.len()).then_some(books.fresh);
            books.fresh += u32::from(fresh.is_some());
            fresh
        });
        books.idle += u32::from(next.is_none());
        next
    }

    /// A job that was put aside is due. Whether there is a worker for it at once.
    pub(super) fn is_due(&self, job: u32) -> bool {
        let mut books = self.0.books.lock();
        books.due.push_back(job);
        let hired = books.idle > 0;
        books.idle -= u32::from(hired);
        hired
    }

    pub(super) fn begin(&self, job: u32) {
        self.with(job, |books, now, job| {
            let known = &mut books.jobs[job.id as usize];
            if known.began.is_none() {
                (known.began, known.idle) = (Some(now), Some(now));
                books.count(|metrics| metrics.came(job));
            }
        });
    }

    pub(super) fn origin(&self, job: u32) -> u32 {
        self.with(job, |_, _, job| job.origin)
    }

    /// How often a job is sent at most.
    pub(super) fn most_sends(&self) -> u32 {
        self.0.most_sends
    }

    /// Whether jobs come by themselves, and there are no workers.
    pub(super) fn is_open(&self) -> bool {
        !self.0.closed
    }

    /// How often it was sent.
    pub(super) fn sends(&self, job: u32) -> u32 {
        self.with(job, |books, _, job| books.jobs[job.id as usize].sent)
    }

    pub(super) fn send(&self, job: u32, exit: u32) -> (Attempt, Leg) {
        self.with(job, |books, now, job| {
            books.note(now, job.id, What::Send(exit));
            books.count(|metrics| metrics.sent(now, job));
            let known = &mut books.jobs[job.id as usize];
            (known.waits, known.under_way, known.truth) = (false, true, Truth::Unreached);
            let number = known.sent;
            known.sent += 1;
            known.waited += now.since(known.idle.take().unwrap_or(now));
            let nth = books.world.use_exit(exit);
            let attempt = Attempt { job: *job, number, exit, nth };
            (attempt, books.world.send(now, &attempt))
        })
    }

    pub(super) fn arrive(&self, attempt: &Attempt) -> (Time, Answer) {
        self.with(attempt.job.id, |books, now, _| {
            let out = books.world.arrive(now, attempt);
            let Books { metrics, world, .. } = books;
            if let Some(metrics) = metrics {
                metrics.arrived(now, attempt, out.1.truth);
                metrics.bans(now, world);
            }
            out
        })
    }

    pub(super) fn answered(&self, attempt: &Attempt, answer: &Answer) {
        self.with(attempt.job.id, |books, _, job| {
            books.world.answered(attempt, answer);
            books.count(|metrics| metrics.answered(attempt, answer));
            books.jobs[job.id as usize].truth = answer.truth;
        });
    }

    /// Answered, or broken off, on such a leg of its way.
    pub(super) fn attempt_is_over(&self, attempt: &Attempt, broken_off: Option<&Leg>) {
        self.with(attempt.job.id, |books, now, job| {
            if let Some(leg) = broken_off {
                books.world.lose(attempt, leg);
            }
            let known = &mut books.jobs[job.id as usize];
            (known.under_way, known.idle) = (false, Some(now));
        });
    }

    /// The fleet has stopped a login.
    pub(super) fn login_is_stopped(&self) {
        self.0.books.lock().count(|metrics| metrics.run.stops += 1);
    }

    /// Its request has something to wait for.
    pub(super) fn is_pending(&self, job: u32) {
        self.with(job, |books, now, job| {
            let known = &mut books.jobs[job.id as usize];
            if !known.under_way && !std::mem::replace(&mut known.waits, true) {
                books.note(now, job.id, What::Wait);
            }
        });
    }

    /// It is over, or put aside.
    pub(super) fn leave(&self, job: u32, next: &Next) {
        let over = self.with(job, |books, now, job| {
            let known = &mut books.jobs[job.id as usize];
            known.waits = false;
            let (began, waited, truth) = (known.began.unwrap_or(now), known.waited, known.truth);
            let what = match next {
                Next::Park(until) => {
                    books.count(|metrics| metrics.run.parked += 1);
                    What::Park(*until)
                }
                Next::GiveUp(why) => {
                    books.count(|metrics| metrics.gave_up(now, job, *why == Why::Request));
                    What::GiveUp
                }
                _ => {
                    books.count(|metrics| metrics.done(now, began, waited, job, truth));
                    What::Done
                }
            };
            books.note(now, job.id, what);
            books.over += usize::from(!matches!(next, Next::Park(_)));
            books.over == books.jobs.len()
        });
        if over {
            self.0.over.notify_one();
        }
    }
}

impl Books {
    fn count(&mut self, look: impl FnOnce(&mut Metrics)) {
        self.metrics.as_mut().map(look);
    }

    fn note(&mut self, at: Time, job: u32, what: What) {
        self.journal.note(Entry { at, job, what });
    }
}
