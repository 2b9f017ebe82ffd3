//! Bandwidth over time while another program comes and goes on one rail.

use std::cell::Cell;
use std::iter::repeat_n;
use std::rc::Rc;

use super::exchange::mb_s;
use super::timing::Measurements;
use crate::models::time::Time;
use crate::mpi::program::{self, Mpi, Tag, Task};
use crate::testbed::Machine;

const DATA: Tag = 0;
const ACKNOWLEDGEMENT: Tag = 1;
const GO: Tag = 2;

/// Another program that sends long messages over one rail.
#[derive(Clone, Copy, Debug)]
pub struct Disturbance {
    /// Which rail, by its position in the stack.
    pub rail: u8,
    /// Start.
    pub from: Time,
    /// End.
    pub until: Time,
}

/// Bytes carried in one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Second {
    /// Its end, in seconds.
    pub end_s: f64,
    /// MB/s.
    pub value: f64,
}

/// Windows of `size` between two nodes, the value of each interval, while `disturbance` runs.
///
/// # Errors
/// As [`super::run()`].
pub fn over_time(
    machine: &Machine,
    (size, window): (u64, u32),
    (interval, duration): (Time, Time),
    disturbance: Disturbance,
) -> Result<Vec<Second>, String> {
    let mut world = machine.world()?;
    // Ranks 0 and 2 are on one node, 1 and 3 on the other: see the placement's pairs.
    let ranks = world.ranks();
    world.bind(ranks / 2 - 1, ranks - 1, disturbance.rail);
    let found = Measurements::default();
    // Set before a sender's last message to its receiver: there are no more windows.
    let over = Rc::new([Cell::new(false), Cell::new(false)]);
    let program = |mpi: Mpi| -> Task {
        let (found, over) = (found.clone(), over.clone());
        Box::pin(async move {
            let half = mpi.ranks() / 2;
            match mpi.rank() {
                0 => watched(&mpi, half, (size, window), (interval, duration), (&found, &over[0])).await,
                rank if rank == half => sink(&mpi, 0, size, window, &over[0]).await,
                rank if rank == half - 1 => disturb(&mpi, mpi.ranks() - 1, size, disturbance, &over[1]).await,
                _ => sink(&mpi, half - 1, size, WINDOW_OF_DISTURBANCE, &over[1]).await,
            }
        })
    };
    program::run(world, program).map_err(|deadlock| deadlock.to_string())?;
    Ok(seconds(&found))
}

/// What was found, each value with the end of its interval.
pub(super) fn seconds(found: &Measurements) -> Vec<Second> {
    found.take().into_iter().map(|(end, value)| Second { end_s: Time(end).as_ns() / 1e9, value }).collect()
}

/// Long messages that the other program keeps under way.
const WINDOW_OF_DISTURBANCE: u32 = 16;

async fn one_window(mpi: &Mpi, to: u32, size: u64, window: u32) {
    mpi.send(to, GO, 4).await;
    mpi.exchange([], repeat_n((to, DATA, size), window as usize)).await;
    mpi.recv(to, ACKNOWLEDGEMENT, 4).await;
}

/// Receives windows until the sender announces the end.
async fn sink(mpi: &Mpi, from: u32, size: u64, window: u32, over: &Cell<bool>) {
    loop {
        mpi.recv(from, GO, 4).await;
        if over.get() {
            return;
        }
        mpi.exchange(repeat_n((from, DATA, size), window as usize), []).await;
        mpi.send(from, ACKNOWLEDGEMENT, 4).await;
    }
}

async fn watched(
    mpi: &Mpi,
    to: u32,
    (size, window): (u64, u32),
    (interval, duration): (Time, Time),
    (found, over): (&Measurements, &Cell<bool>),
) {
    let (mut start, mut bytes) = (mpi.time(), 0);
    while mpi.time() < duration {
        one_window(mpi, to, size, window).await;
        bytes += size * u64::from(window);
        let now = mpi.time();
        if now - start >= interval {
            found.borrow_mut().push((now.0, mb_s(bytes, now - start)));
            (start, bytes) = (now, 0);
        }
    }
    over.set(true);
    mpi.send(to, GO, 4).await;
}

async fn disturb(mpi: &Mpi, to: u32, size: u64, disturbance: Disturbance, over: &Cell<bool>) {
    mpi.sleep_until(disturbance.from).await;
    while mpi.time() < disturbance.until {
        one_window(mpi, to, size, WINDOW_OF_DISTURBANCE).await;
    }
    over.set(true);
    mpi.send(to, GO, 4).await;
}
