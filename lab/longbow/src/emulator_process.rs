//! The process of an emulator: receives a plan, sets it up, and runs the event loop.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};

use crate::control_channel::ControlChannel;
use crate::event_loop::EventLoop;
use crate::lane::Lane;
use crate::message::{Ready, Response};
use crate::namespace::within;
use crate::nfqueue::{Queue, Timestamps};
use crate::plan::{Backend, Direction, End, Plan};
use crate::sys;
use crate::tap::{self, Taps};
use crate::wire::Wire;

/// Reads a [`Plan`] and then requests from `input`, answers each on `output`, and emulates in this thread until `input` ends.
/// Each message is one line of JSON.
///
/// # Errors
/// If the plan cannot be set up (also reported on `output`), or if a rail fails later.
pub fn serve(input: OwnedFd, output: OwnedFd) -> Result<()> {
    let mut control = ControlChannel::new(input, output);
    match work(&mut control) {
        Ok(()) => Ok(()),
        Err(error) => {
            // Fails if the peer has ended.
            let _ = control.respond(&Response::Error(format!("{error:#}")));
            Err(error)
        }
    }
}

fn work(control: &mut ControlChannel) -> Result<()> {
    let plan: Option<Plan> = control.read_request().context("cannot read the plan of an emulator")?;
    let Some(plan) = plan else { return Ok(()) };
    plan.check()?;
    match plan.backend {
        Backend::Nfqueue => {
            // Timestamps stay enabled until it is dropped.
            let _stamps = Timestamps::enable().context("cannot ask for the times at which packets come")?;
            let (lanes, notes) = nfqueue_lanes(&plan)?;
            run(lanes, &plan, notes, control)
        }
        Backend::Tap => run(tap_lanes(&plan)?, &plan, Vec::new(), control),
    }
}

fn run<W: Wire>(lanes: Vec<Lane<W>>, plan: &Plan, mut notes: Vec<String>, control: &mut ControlChannel) -> Result<()> {
    let priority = sys::run_ahead_of_others();
    if let Err(error) = &priority {
        notes.push(format!(
            "no real-time priority ({error}): frames are late while other programs compute \
             (root has it; others by ulimit -r 50)"
        ));
    }
    control.respond(&Response::Ready(Ready { realtime: priority.is_ok(), notes }))?;
    EventLoop::new(lanes, plan.backend).run(control)
}

fn nfqueue_lanes(plan: &Plan) -> Result<(Vec<Lane<Queue>>, Vec<String>)> {
    let mut seen = BTreeSet::new();
    let mut notes = BTreeSet::new();
    let mut lanes = Vec::new();
    for rail in &plan.rails {
        for (direction, end, settings) in [(Direction::Ab, &rail.b, &rail.ab), (Direction::Ba, &rail.a, &rail.ba)] {
            let number = lanes.len() as u16;
            let anew = seen.insert(identity(&end.namespace)?);
            let opened = within(&end.namespace, || Queue::open(&end.interface, number, anew));
            let (queue, notes_here) = opened.with_context(|| format!("rail {}", rail.name))?;
            notes.extend(notes_here);
            lanes.push(Lane::new(&rail.name, direction, queue, settings.clone(), seed(plan, lanes.len()))?);
        }
    }
    Ok((lanes, notes.into_iter().collect()))
}

fn tap_lanes(plan: &Plan) -> Result<Vec<Lane<Taps>>> {
    let mut lanes = Vec::new();
    for rail in &plan.rails {
        let make = |end: &End| {
            within(&end.namespace, || tap::make(&end.interface)).with_context(|| format!("rail {}", rail.name))
        };
        let (a, b) = (make(&rail.a)?, make(&rail.b)?);
        for (direction, wire, settings) in
            [(Direction::Ab, Taps::new(&a, &b), &rail.ab), (Direction::Ba, Taps::new(&b, &a), &rail.ba)]
        {
            lanes.push(Lane::new(&rail.name, direction, wire, settings.clone(), seed(plan, lanes.len()))?);
        }
    }
    Ok(lanes)
}

/// Identifies a namespace, whichever file refers to it.
fn identity(namespace: &Path) -> Result<(u64, u64)> {
    let file = fs::metadata(namespace).with_context(|| format!("cannot open namespace {}", namespace.display()))?;
    Ok((file.dev(), file.ino()))
}

/// Seed of a lane: the random numbers of lanes are independent.
fn seed(plan: &Plan, lane: usize) -> u64 {
    plan.seed.wrapping_add(lane as u64)
}
