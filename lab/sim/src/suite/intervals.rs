//! Bandwidth interval by interval, as `bandwidth --interval` measures it, while rails change.

use std::cell::Cell;
use std::iter::{once, repeat_n};
use std::rc::Rc;

use super::competing_traffic::{Second, seconds};
use super::exchange::mb_s;
use super::timing::Measurements;
use crate::models::time::Time;
use crate::mpi::program::{self, Mpi, Tag, Task};
use crate::testbed::{Change, Machine};

const HEADER: Tag = 1;
const DATA: Tag = 2;
const ACKNOWLEDGEMENT: Tag = 3;
const SENDER: u32 = 0;
const RECEIVER: u32 = 1;

/// Windows of `size` from rank 0 to rank 1: what arrived in each interval, while rails change.
///
/// # Errors
/// As [`super::run()`]; when a rail that changes is not emulated.
pub fn intervals(
    machine: &Machine,
    (size, window): (u64, u32),
    (interval, duration): (Time, Time),
    changes: &[Change],
) -> Result<Vec<Second>, String> {
    let world = machine.changing_world(changes)?;
    let found = Measurements::default();
    // Flag in the header of a window: it is the last one.
    let last = Rc::new(Cell::new(false));
    let program = |mpi: Mpi| -> Task {
        let (found, last) = (found.clone(), last.clone());
        Box::pin(async move {
            match mpi.rank() {
                SENDER => send(&mpi, (size, window), duration, &last).await,
                _ => receive(&mpi, (size, window), (interval, duration), (&found, &last)).await,
            }
        })
    };
    program::run(world, program).map_err(|deadlock| deadlock.to_string())?;
    Ok(seconds(&found))
}

async fn send(mpi: &Mpi, (size, window): (u64, u32), duration: Time, last: &Cell<bool>) {
    while !last.get() {
        last.set(mpi.time() >= duration);
        let data = repeat_n((RECEIVER, DATA, size), window as usize);
        mpi.exchange([(RECEIVER, ACKNOWLEDGEMENT, 4)], once((RECEIVER, HEADER, 4)).chain(data)).await;
    }
}

async fn receive(
    mpi: &Mpi,
    (size, window): (u64, u32),
    (interval, duration): (Time, Time),
    (found, last): (&Measurements, &Cell<bool>),
) {
    let (mut bytes, mut reported, mut next, mut over) = (0, Time::default(), interval, false);
    while !over {
        let mut requests = vec![mpi.irecv(SENDER, HEADER, 4).await];
        for _ in 0..window {
            requests.push(mpi.irecv(SENDER, DATA, size).await);
        }
        mpi.wait(requests[0]).await;
        over = last.get();
        for request in &requests[1..] {
            mpi.wait(*request).await;
            bytes += size;
            let now = mpi.time();
            if now >= next && next <= duration {
                found.borrow_mut().push((next.0, mb_s(bytes, now - reported)));
                (bytes, reported) = (0, now);
                while next <= now {
                    next = next + interval;
                }
            }
        }
        mpi.send(SENDER, ACKNOWLEDGEMENT, 4).await;
    }
}
