//! Each event as a plain sentence.

use super::Event;
use crate::outcome::Multiplier;
use crate::request::Key;
use std::fmt;
use std::time::Duration;

/// As a log or a status line would say it. Names of sites, exits and keys are in it, and no secret.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease { key, origin, exit, trial, .. } => {
                write!(f, "{} goes to {origin} through {exit}", Whose(key))?;
                f.write_str(if *trial { ", as a trial" } else { "" })
            }
            Self::Wait { key, origin } => write!(f, "{} waits to go to {origin}", Whose(key)),
            Self::Refusal { key, origin, why, retry_in, .. } => {
                write!(f, "{} may not go to {origin}", Whose(key))?;
                match in_words(why) {
                    Some(words) => write!(f, ": {words} ({why})")?,
                    None => write!(f, " ({why})")?,
                }
                in_time(f, "; ask again in", *retry_in)
            }
            Self::Report { exit, origin, outcome, amends, .. } => {
                write!(f, "{origin} through {exit}: {outcome}")?;
                f.write_str(if *amends { ", after all" } else { "" })
            }
            Self::LeaseChanged { key, origin, exit, .. } => {
                write!(
                    f,
                    "the provider has changed {exit} behind its name, which {} holds for {origin}",
                    Whose(key)
                )
            }
            Self::Escalated { origin, from, to, refused } => {
                let share = f64::from(*refused) * 100.0;
                write!(f, "{origin} refuses {share:.0} % through {from}; new work for it goes to {to}")
            }
            Self::CameBack { origin, to, .. } => write!(f, "{origin} takes {to} again"),
            Self::Rest { exit, origin, rest } => {
                write!(f, "{exit} rests")?;
                if let Some(origin) = origin {
                    write!(f, " at {origin}")?;
                }
                in_time(f, " for", *rest)
            }
            Self::CredentialStopped { exit, reason } => {
                write!(f, "the login of {exit} is refused ({}) and stopped", reason.name())
            }
            Self::CredentialResumed { exit } => write!(f, "the login of {exit} works again"),
            Self::GatewayHeld { exit, rest } => {
                write!(f, "the gateway of {exit} is overloaded or unreachable, and left alone")?;
                in_time(f, " for", *rest)
            }
            Self::OriginHeld { origin, rest, exits, status } => {
                write!(f, "{origin} fails")?;
                if let Some(status) = status {
                    write!(f, " with {status}")?;
                }
                let plural = if *exits == 1 { "" } else { "s" };
                write!(f, " through {exits} exit{plural}, and is left alone")?;
                in_time(f, " for", *rest)
            }
            Self::OriginReleased { origin } => write!(f, "{origin} serves again"),
            Self::Diagnosed { origin, diagnosis } => write!(f, "{origin}: {diagnosis}"),
            Self::Spaced { origin, gap: Some(gap) } => {
                let gap = gap.as_secs_f64();
                write!(
                    f,
                    "{origin} limits each exit: its uses there are kept {gap:.2} s apart, and further if need be"
                )
            }
            Self::Spaced { origin, gap: None } => write!(f, "{origin} limits each exit no more"),
            Self::GatewaySlowed { gateway, from, to } => {
                write!(f, "the gateway {gateway} has too much to do with {from} at once: at most {to} now")
            }
            Self::GatewayUnlimited { gateway } => {
                write!(f, "the gateway {gateway} is not limited any more")
            }
            Self::Slowed { origin, from, to, multiplier } => {
                write!(f, "concurrency at {origin} lowered from {from} to {to}: {}", Attempts(*multiplier))
            }
            Self::NotOurRate { origin, before, after } => {
                let (before, after) = (before.value, after.value);
                write!(
                    f,
                    "fewer requests at once are no cure at {origin} ({before:.1} attempts per success before, {after:.1} "
                )?;
                f.write_str("after): it is the requests, or their exits")
            }
            Self::Unlimited { origin, multiplier } => {
                write!(f, "concurrency at {origin} is not limited any more")?;
                multiplier.map_or(Ok(()), |multiplier| write!(f, ": {}", Attempts(multiplier)))
            }
            Self::AsksTooHard { multiplier, origin } => {
                write!(f, "{:.2} attempts per success", multiplier.value)?;
                if let Some(origin) = origin {
                    write!(f, ", most in vain at {origin}")?;
                }
                f.write_str(": fewer requests at once would do better")
            }
            Self::AsksWell { multiplier } => {
                write!(f, "{:.2} attempts per success: as it should be again", multiplier.value)
            }
        }
    }
}

/// Who asks. What holds no exit has no key.
struct Whose<'a>(&'a Key);

impl fmt::Display for Whose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.as_str().is_empty() { "a request" } else { self.0.as_str() })
    }
}

/// What the name of a refusal means; README has the same list.
fn in_words(why: &str) -> Option<&'static str> {
    Some(match why {
        "no_usable_exit" => "no exit may serve it now",
        "origin_held_by_failures" => "the site fails everybody, and is left alone",
        "origin_held_by_limit" => "as many requests are there as it is given at once",
        "behind" => "others wait for the same, and go first",
        "busy" => "a bound of the scheduler is met",
        "moved" => "its identity's exit is lost, and the move not accepted yet",
        "fleet_stopped" => "every login is stopped",
        "closed" => "the fleet is drained",
        "misuse" => "it is asked for in a way that cannot work",
        _ => return None,
    })
}

struct Attempts(Multiplier);

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Multiplier { attempts, successes, value, .. }) = self;
        match successes {
            0 => write!(f, "{attempts} attempts and no success"),
            _ => write!(f, "{value:.1} attempts per success"),
        }
    }
}

fn in_time(f: &mut fmt::Formatter<'_>, before: &str, time: Option<Duration>) -> fmt::Result {
    time.map_or(Ok(()), |time| write!(f, "{before} {:.1} s", time.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Origin;

    #[test]
    fn a_hold_is_told_in_a_sentence() {
        let origin = Origin::new("shop.example");
        let held = |exits, status, rest| Event::OriginHeld { origin: origin.clone(), rest, exits, status };
        let rest = Some(Duration::from_millis(5_432));
        for (event, sentence) in [
            (
                held(3, Some(503), rest),
                "shop.example fails with 503 through 3 exits, and is left alone for 5.4 s",
            ),
            (held(1, None, None), "shop.example fails through 1 exit, and is left alone"),
            (Event::OriginReleased { origin: origin.clone() }, "shop.example serves again"),
            (
                Event::GatewaySlowed { gateway: "gw.example:7000".into(), from: 57, to: 39 },
                "the gateway gw.example:7000 has too much to do with 57 at once: at most 39 now",
            ),
            (
                Event::GatewayUnlimited { gateway: "gw.example:7000".into() },
                "the gateway gw.example:7000 is not limited any more",
            ),
        ] {
            assert_eq!(event.to_string(), sentence);
        }
    }

    #[test]
    fn who_asks_is_told_by_key_or_as_a_request() {
        let origin = Origin::new("shop.test");
        let refusal = |key: &str, why, retry_in| Event::Refusal {
            key: key.into(),
            origin: origin.clone(),
            why,
            retry_in,
            counts: crate::error::UnusableCounts::default(),
        };
        let soon = Some(Duration::from_millis(1_500));
        for (event, sentence) in [
            (
                refusal("", "behind", soon),
                "a request may not go to shop.test: others wait for the same, and go first (behind); ask again in 1.5 s",
            ),
            (
                refusal("sku-42", "closed", None),
                "sku-42 may not go to shop.test: the fleet is drained (closed)",
            ),
            (Event::Wait { key: "".into(), origin: origin.clone() }, "a request waits to go to shop.test"),
            (Event::Wait { key: "sku-42".into(), origin: origin.clone() }, "sku-42 waits to go to shop.test"),
        ] {
            assert_eq!(event.to_string(), sentence);
        }
    }

    #[test]
    fn limits_are_told_in_sentences() {
        let origin = Origin::new("shop.example");
        let of = |attempts, successes| Multiplier::of(attempts, successes).unwrap();
        let limited = |multiplier| Event::Slowed { origin: origin.clone(), from: 64, to: 44, multiplier };
        let no_cure = Event::NotOurRate { origin: origin.clone(), before: of(250, 100), after: of(240, 100) };
        let lifted = |multiplier| Event::Unlimited { origin: origin.clone(), multiplier };
        for (event, sentence) in [
            (
                limited(of(160, 100)),
                "concurrency at shop.example lowered from 64 to 44: 1.6 attempts per success",
            ),
            (
                limited(of(40, 0)),
                "concurrency at shop.example lowered from 64 to 44: 40 attempts and no success",
            ),
            (
                no_cure,
                "fewer requests at once are no cure at shop.example (2.5 attempts per success before, 2.4 after): it is the \
                 requests, or their exits",
            ),
            (
                lifted(Some(of(101, 100))),
                "concurrency at shop.example is not limited any more: 1.0 attempts per success",
            ),
            (lifted(None), "concurrency at shop.example is not limited any more"),
        ] {
            assert_eq!(event.to_string(), sentence);
        }
    }
}
