//! The patterns: what ranks do once.

use std::iter::repeat_n;

use crate::models::time::Time;
use crate::mpi::collectives::{Group, alltoall};
use crate::mpi::program::{Mpi, Tag};
use crate::named::named;

const DATA: Tag = 30;
const ACKNOWLEDGEMENT: Tag = 31;
const BLOCKS: Tag = 32;
/// Messages of a long window.
const WINDOW: u32 = 64;
/// How long a step computes, which its time does not include.
pub(super) const STEP_COMPUTES: Time = Time::ms(1);

named! {
    /// A pattern of messages between two hosts.
    Pattern {
        /// A message each way at once.
        Exchange = "exchange",
        /// A message there, and one back.
        PingPong = "ping-pong",
        /// A message one way, which is acknowledged.
        Window1 = "window-1",
        /// 64 messages one way, which are acknowledged together.
        Window64 = "window-64",
        /// A step of an iterative solver: a computation, a message each way, then two numbers of 8 bytes each way, one after the
        /// other.
        Step = "step",
        /// Blocks from each to each of four ranks, two on each host.
        Alltoall = "alltoall",
    }
}

use Pattern::*;

impl Pattern {
    /// Ranks, and how many of them each host has.
    pub(super) fn ranks(self) -> (u32, u32) {
        if self == Alltoall { (4, 2) } else { (2, 1) }
    }

    /// Longest message of the table, in bytes: a window of longer ones shows nothing more.
    pub(super) fn longest(self) -> u64 {
        match self {
            Window64 => 256 << 10,
            Alltoall => 1 << 20,
            _ => 4 << 20,
        }
    }

    /// One-way messages between the hosts on which an answer depends.
    pub(super) fn messages(self) -> u64 {
        match self {
            Exchange | PingPong | Window1 | Step => 1,
            Window64 => u64::from(WINDOW),
            Alltoall => 4,
        }
    }

    /// How often the way between the hosts is waited for.
    pub(super) fn ways(self) -> u64 {
        match self {
            Exchange | Alltoall => 1,
            PingPong | Window1 | Window64 => 2,
            Step => 3,
        }
    }

    /// How long it computes.
    pub(super) fn computes(self) -> Time {
        if self == Step { STEP_COMPUTES } else { Time::default() }
    }

    /// Bytes that a process sends and receives, one after the other.
    pub(super) fn bytes_of_process(self, size: u64) -> u64 {
        match self {
            Exchange | PingPong | Step => 2 * size,
            Window1 | Window64 => self.messages() * size,
            // Messages within a host do not use rails.
            Alltoall => 4 * size,
        }
    }

    /// One iteration of one of the ranks.
    pub(super) async fn turn(self, mpi: &Mpi, size: u64) {
        let other = 1 - mpi.rank().min(1);
        match self {
            Exchange => exchange(mpi, other, size).await,
            PingPong if mpi.rank() == 0 => {
                mpi.send(other, DATA, size).await;
                mpi.recv(other, DATA, size).await;
            }
            PingPong => {
                mpi.recv(other, DATA, size).await;
                mpi.send(other, DATA, size).await;
            }
            Step => {
                mpi.compute(STEP_COMPUTES).await;
                exchange(mpi, other, size).await;
                exchange(mpi, other, 8).await;
                exchange(mpi, other, 8).await;
            }
            Window1 => window(mpi, (0, 1), (size, 1)).await,
            Window64 => window(mpi, (0, 1), (size, WINDOW)).await,
            Alltoall => alltoall(mpi, &Group::all(mpi), size, BLOCKS).await,
        }
    }
}

/// A message each way, as programs mostly do it.
pub(super) async fn exchange(mpi: &Mpi, other: u32, size: u64) {
    let receive = mpi.irecv(other, DATA, size).await;
    mpi.send(other, DATA, size).await;
    mpi.wait(receive).await;
}

/// Messages of a size from one rank to another, acknowledged together.
pub(super) async fn window(mpi: &Mpi, (from, to): (u32, u32), (size, count): (u64, u32)) {
    let data = |peer: u32, acts: u32| repeat_n((peer, DATA, size), if mpi.rank() == acts { count as usize } else { 0 });
    mpi.exchange(data(from, to), data(to, from)).await;
    if mpi.rank() == from {
        mpi.recv(to, ACKNOWLEDGEMENT, 4).await;
    } else if mpi.rank() == to {
        mpi.send(from, ACKNOWLEDGEMENT, 4).await;
    }
}
