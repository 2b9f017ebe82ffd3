//! Times a case after a history, in virtual time.

use std::cell::Cell;
use std::rc::Rc;

use super::before::Before;
use super::case::Case;
use super::repeat::repeat;
use crate::models::time::Time;
use crate::mpi::program::{self, Mpi, Task};
use crate::testbed::Machine;

/// The history must not matter after the first number of messages and this time, or after the second number of
/// messages.
const MESSAGES: (u64, u64) = (200, 10_000);
const FORGOTTEN_AFTER: Time = Time::ms(500);
/// Duration of the measurement, and minimum and maximum number of its turns.
const TIMED: Time = Time::ms(60);
const MIN_TURNS: u64 = 8;
const MAX_TURNS: u64 = 2000;

/// Time of a turn of the pattern after a history, in nanoseconds, without its computation.
///
/// # Errors
/// When ranks wait for ever.
pub(super) fn time_ns(case: &Case, before: Before, seed: u64) -> Result<f64, String> {
    let machine = Machine::new(super::machine::testbed(case)?, case.pattern.ranks(), seed);
    let mut world = machine.changing_world(&before.changes(&case.rails))?;
    if let Some(times) = before.cut() {
        world.cut(0, times);
    }
    let found = Rc::new(Cell::new(f64::NAN));
    let program = |mpi: Mpi| -> Task {
        let (case, found) = (case.clone(), found.clone());
        Box::pin(async move {
            before.pass(&mpi, &case).await;
            let time_ns = timed(&mpi, &case).await;
            if mpi.rank() == 0 {
                found.set(time_ns);
            }
        })
    };
    program::run(world, program).map_err(|deadlock| format!("{case:?} after {}: {deadlock}", before.name()))?;
    Ok(found.get())
}

/// Runs the pattern until the history must be forgotten, and then times it.
async fn timed(mpi: &Mpi, case: &Case) -> f64 {
    let turn = || case.pattern.turn(mpi, case.size);
    let turns = |messages: u64| messages / case.pattern.messages();
    repeat(mpi, (FORGOTTEN_AFTER, turns(MESSAGES.0), turns(MESSAGES.1)), case.about_ns(), turn).await;
    let (turns, time) = repeat(mpi, (TIMED, MIN_TURNS, MAX_TURNS), case.about_ns(), turn).await;
    time.as_ns() / turns as f64 - case.pattern.computes().as_ns()
}
