//! Runs a case in virtual time.

use std::cell::Cell;
use std::rc::Rc;

use super::case::{Case, Knows};
use super::knows::{Change, changed};
use super::parts::{Part, Parts};
use super::pattern::Step;
use super::table::Row;
use crate::history;
use crate::models::time::Time;
use crate::mpi::knowledge::Knowledge;
use crate::mpi::program::{self, Mpi, Task};
use crate::testbed::{Machine, Testbed};

/// Numbers of messages after which the time counts.
const FIRST: [u64; 3] = [1, 10, 100];

/// Ranks end with one turn, the last that any had begun when time was up: each turn needs all of its messages.
#[derive(Default)]
struct Ending {
    begun: Cell<u64>,
    last: Cell<Option<u64>>,
}

impl Ending {
    /// Whether a rank does turn number `turn`, counted from 1.
    fn goes_on(&self, turn: u64, is_over: bool) -> bool {
        if is_over && self.last.get().is_none() {
            self.last.set(Some(self.begun.get()));
        }
        self.begun.set(self.begun.get().max(turn));
        self.last.get().is_none_or(|last| turn <= last)
    }
}

/// Measures a case.
///
/// # Errors
/// When ranks wait for ever.
pub fn measure(case: &Case, seed: u64) -> Result<Row, String> {
    let (machine, parts) = (Machine::new(testbed(case)?, (case.ranks(), case.per_host), seed), Parts::of(case));
    let mut world = machine.changing_world(&parts.changes(case))?;
    let last_rail = case.rails.len() - 1;
    if last_rail > 0 {
        world.cut(last_rail as u32, parts.cut());
    }
    world.begin_port_shares(case.per_host);
    world.observe(Knowledge::new(parts.look(), parts.end(), last_rail));
    let shared = Rc::new(Shared::default());
    let rank = |mpi: Mpi| -> Task {
        let steps = case.pattern.steps((case.hosts, case.per_host), mpi.rank());
        Box::pin(run(mpi, case.clone(), steps, shared.clone()))
    };
    let mut world = program::run(world, rank)
        .map_err(|deadlock| format!("{case:?}: {} ranks wait for ever", deadlock.ranks.len()))?;
    let knowledge = world.take_knowledge().ok_or("nothing was observed")?;
    let first_ms = shared.first.each_ref().map(|time| time.get().as_ns() / 1e6);
    Ok(row(case, parts, &knowledge, (first_ms, world.events())))
}

/// What ranks tell each other beside their messages.
#[derive(Default)]
struct Shared {
    warmup: Ending,
    ending: Ending,
    /// When each rank has received so many messages.
    first: [Cell<Time>; FIRST.len()],
}

/// The program of a rank.
async fn run(mpi: Mpi, case: Case, steps: Vec<Step>, shared: Rc<Shared>) {
    let parts = Parts::of(&case);
    let (begin, quiet) = parts.begin();
    for number in 1.. {
        if !shared.warmup.goes_on(number, mpi.time() >= quiet) {
            break;
        }
        case.pattern.turn(&mpi, &steps, case.size, &mut |_| ()).await;
    }
    mpi.align().await;
    mpi.sleep_until(begin).await;
    let mut messages = 0;
    let mut received = |from: u32| {
        if case.is_remote(mpi.rank(), from) {
            messages += 1;
            let at = FIRST.iter().position(|first| *first == messages);
            at.map(|at| &shared.first[at])
                .into_iter()
                .for_each(|first| first.set(first.get().later(mpi.time() - begin)));
        }
    };
    for number in 1.. {
        if !shared.ending.goes_on(number, mpi.time() >= parts.end()) {
            return;
        }
        case.pattern.turn(&mpi, &steps, case.size, &mut received).await;
    }
}

fn row(case: &Case, parts: Parts, knowledge: &Knowledge, (first_ms, events): ([f64; 3], u64)) -> Row {
    let allowed = |part| parts.mbit(part, case) * 125_000.0 / history::SHAPED_ON_WIRE * case.hosts_at_work();
    let goodput = |part| {
        let (from, to) = parts.window(part);
        knowledge.bytes((from, to)) as f64 / (to - from).as_ns() * 1e9 / allowed(part)
    };
    let looks = || knowledge.looks().iter().filter(|look| look.at > parts.begin().0);
    let seconds = |time: Option<Time>| time.unwrap_or_default().as_ns() / 1e9;
    let padding = |part| {
        let [bytes, padding] = [knowledge.bytes(parts.window(part)), knowledge.padding(parts.window(part))];
        padding as f64 / (bytes + padding) as f64
    };
    let change = |at, before, with| {
        changed(case, knowledge, Change { at, before: parts.window(before), with: parts.window(with) })
    };
    let (half, again) = parts.half();
    Row {
        case: case.clone(),
        first_ms,
        start: goodput(Part::Start),
        steady: goodput(Part::Steady),
        half: goodput(Part::Half),
        again: goodput(Part::Again),
        cut: goodput(Part::Cut),
        back: goodput(Part::Back),
        changes: [change(half, Part::Steady, Part::Half), change(again, Part::Half, Part::Again)],
        padding: [padding(Part::Start), padding(Part::Steady)],
        connection_age_s: seconds(looks().map(|look| look.connection_age).max()),
        rank_age_s: seconds(looks().map(|look| look.rank_age).max()),
        events,
    }
}

/// The machine of a case: hosts with shaped rails, behind a switch whose ports have the rails' rates.
///
/// # Errors
/// When the testbed that it is made of is not as it was.
fn testbed(case: &Case) -> Result<Testbed, String> {
    let mut testbed = history::shaped(&case.rails)?;
    for (rail, mbit) in testbed.rail.iter_mut().zip(&case.rails) {
        let emulated = rail.emulated.as_mut().ok_or("the rail is not emulated")?;
        emulated.switched = true;
        if matches!(case.knows, Knows::Told | Knows::Fixed) {
            emulated.told_mbit.value = (*mbit).into();
        }
    }
    if case.knows == Knows::Fixed {
        for stack in testbed.stack.values_mut() {
            stack.multiplexing = Some("weighted-round-robin".into());
            stack.striping = Some("weighted".into());
            stack.without_padding = true;
        }
    }
    Ok(testbed)
}
