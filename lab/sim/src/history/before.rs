//! The histories: what ranks have done before.

use super::case::Case;
use super::machine::mbit;
use super::pattern::{self, Pattern, window};
use super::repeat::repeat;
use crate::models::time::Time;
use crate::mpi::program::Mpi;
use crate::named::named;
use crate::testbed::Change;

/// How long each part of a history takes, and how many messages it has at most: a path is measured many times by then.
const PART: Time = Time::ms(150);
const MAX_TURNS: u64 = 1000;
/// When a rail is slow, or away.
const DISTURBED: (Time, Time) = (Time::ms(50), Time::ms(250));
/// Duration of a history with a slow or cut rail.
const WITH_DISTURBANCE: Time = Time::ms(350);
/// A slow rail has this part of its rate.
const SLOW_PART: u32 = 10;
/// A message that is long over all rails, and one that is short.
const LARGE: u64 = 1 << 20;
const SMALL: u64 = 1 << 10;
/// One that is cut, by rate or by rule.
const MIDDLE: u64 = 128 << 10;
/// Sizes up and down.
const STEPS: [u64; 6] = [1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// Sizes in an irregular order.
const SHUFFLED: [u64; 8] = [256 << 10, 2 << 10, 4 << 20, 64 << 10, 8 << 10, 1 << 20, 96 << 10, 512 << 10];
/// Between small messages while rails idle.
const PAUSE: Time = Time::ms(1);
/// A computation without a call.
const COMPUTATION: Time = Time::ms(60_000);

named! {
    /// The history before a pattern.
    Before {
        /// Nothing.
        Nothing = "nothing",
        /// Small messages only.
        Small = "small",
        /// Large ones only.
        Large = "large",
        /// Middle ones, which a single rail may carry.
        Middle = "middle",
        /// Large ones over all rails, then small ones, for which all but one rail idle.
        Idle = "idle",
        /// The first rail had a tenth of its rate for a while.
        Slow = "slow",
        /// The last rail had.
        SlowLast = "slow-last",
        /// The first rail was cut, and came back.
        Cut = "cut",
        /// Sizes that grow.
        Up = "up",
        /// Sizes that shrink.
        Down = "down",
        /// Sizes in random order.
        Random = "random",
        /// The other direction only.
        Back = "back",
        /// A minute of computation, after large messages.
        Computation = "computation",
    }
}

use Before::*;

impl Before {
    /// Rates that change meanwhile.
    pub(super) fn changes(self, rails: &[u32]) -> Vec<Change> {
        let rail = match self {
            Slow => 0,
            SlowLast => rails.len() - 1,
            _ => return Vec::new(),
        };
        let change = |at, mbit| Change { at, rail, mbit };
        let usual = mbit(rails[rail]) as u32;
        vec![change(DISTURBED.0, (usual / SLOW_PART).max(1)), change(DISTURBED.1, usual)]
    }

    /// When the first rail is away.
    pub(super) fn cut(self) -> Option<(Time, Time)> {
        (self == Cut).then_some(DISTURBED)
    }

    /// The history of one of the ranks.
    pub(super) async fn pass(self, mpi: &Mpi, case: &Case) {
        match self {
            Nothing => {}
            Small => exchange(mpi, case, SMALL, PART).await,
            Large => exchange(mpi, case, LARGE, PART).await,
            Middle => exchange(mpi, case, MIDDLE, Time::ms(400)).await,
            Idle => {
                exchange(mpi, case, LARGE, PART).await;
                let turn = || async {
                    mpi.compute(PAUSE).await;
                    pairs(mpi, SMALL).await;
                };
                repeat(mpi, (WITH_DISTURBANCE, 1, u64::MAX), of(case, SMALL).about_ns() + PAUSE.as_ns(), turn).await;
            }
            Slow | SlowLast | Cut => {
                // Until the rail has recovered.
                let about_ns = of(case, MIDDLE).about_ns() * f64::from(mpi.ranks() / 2);
                repeat(mpi, (WITH_DISTURBANCE, 1, u64::MAX), about_ns, || pairs(mpi, MIDDLE)).await;
            }
            Up => series(mpi, case, STEPS.into_iter()).await,
            Down => series(mpi, case, STEPS.into_iter().rev()).await,
            Random => series(mpi, case, SHUFFLED.into_iter()).await,
            Back => {
                // From the second host to the first.
                let turn = || window(mpi, (mpi.ranks() / 2, 0), (MIDDLE, 1));
                repeat(mpi, (Time::ms(300), 1, MAX_TURNS), of(case, MIDDLE).about_ns(), turn).await;
            }
            Computation => {
                exchange(mpi, case, LARGE, PART).await;
                mpi.compute(COMPUTATION).await;
            }
        }
    }
}

async fn series(mpi: &Mpi, case: &Case, sizes: impl Iterator<Item = u64>) {
    for size in sizes {
        exchange(mpi, case, size, Time::ms(80)).await;
    }
}

/// Exchanges of a size, for a time or a number of iterations.
async fn exchange(mpi: &Mpi, case: &Case, size: u64, time: Time) {
    let about_ns = of(case, size).about_ns() * f64::from(mpi.ranks() / 2);
    repeat(mpi, (time, 1, MAX_TURNS), about_ns, || pairs(mpi, size)).await;
}

/// An exchange of all ranks, which are in pairs of one of each host.
async fn pairs(mpi: &Mpi, size: u64) {
    let other = (mpi.rank() + mpi.ranks() / 2) % mpi.ranks();
    pattern::exchange(mpi, other, size).await;
}

/// An exchange of another size over the same rails.
fn of(case: &Case, size: u64) -> Case {
    Case { pattern: Pattern::Exchange, size, ..case.clone() }
}
