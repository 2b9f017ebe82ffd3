//! Two-sided benchmarks.

use super::options::Options;
use super::timing::{Measurements, iterate};
use crate::models::time::Time;
use crate::mpi::collectives::{Group, barrier};
use crate::mpi::program::{Mpi, Tag};

const DATA: Tag = 0;
const ACKNOWLEDGEMENT: Tag = 1;
const READY: Tag = 2;
/// Messages of `stream` that are under way at most: the depth of a usual test's send queue.
const STREAM_DEPTH: u64 = 128;
/// Bytes that they have together at most: well within what a peer takes.
const STREAM_BYTES: u64 = 128 << 20;

pub(super) fn us(time: Time) -> f64 {
    time.as_ns() / 1e3
}

/// Rate in MB/s of `bytes` bytes.
pub(super) fn mb_s(bytes: u64, time: Time) -> f64 {
    bytes as f64 / time.as_ns() * 1e3
}

pub(super) async fn latency(mpi: &Mpi, options: &Options, found: &Measurements) {
    if let Some(time) = ping_pong(mpi, 0, 1, options).await {
        found.borrow_mut().push((0, us(time)));
    }
}

/// Half of the mean round trip, known to the first.
async fn ping_pong(mpi: &Mpi, first: u32, second: u32, options: &Options) -> Option<Time> {
    let size = options.size;
    let times = iterate(mpi, options, async || {
        if mpi.rank() == first {
            mpi.send(second, DATA, size).await;
            mpi.recv(second, DATA, size).await;
        } else if mpi.rank() == second {
            mpi.recv(first, DATA, size).await;
            mpi.send(first, DATA, size).await;
        }
    })
    .await;
    let half = Time(times.each(options).0 / 2);
    (mpi.rank() == first).then_some(half)
}

/// A window to `to` and one from `from`, each with an acknowledgement.
async fn window(mpi: &Mpi, options: &Options, to: Option<u32>, from: Option<u32>) {
    let data = |peer: u32| std::iter::repeat_n((peer, DATA, options.size), options.window as usize);
    let acknowledgement = |peer: u32| (peer, ACKNOWLEDGEMENT, 4);
    mpi.exchange(from.into_iter().flat_map(data), to.into_iter().flat_map(data)).await;
    mpi.exchange(to.map(acknowledgement), from.map(acknowledgement)).await;
}

/// Warm-up and windows; how long those that count took.
pub(super) async fn windows(mpi: &Mpi, options: &Options, to: Option<u32>, from: Option<u32>) -> Time {
    let times = iterate(mpi, options, async || window(mpi, options, to, from).await).await;
    Time(times.each(options).0 * u64::from(options.iterations))
}

fn bytes(options: &Options) -> u64 {
    options.size * u64::from(options.window) * u64::from(options.iterations)
}

pub(super) async fn bandwidth(mpi: &Mpi, options: &Options, both: bool, found: &Measurements) {
    let other = Some(1 - mpi.rank());
    let (sends, receives) = (both || mpi.rank() == 0, both || mpi.rank() == 1);
    let time = windows(mpi, options, other.filter(|_| sends), other.filter(|_| receives)).await;
    if mpi.rank() == 0 {
        let bytes = bytes(options) * if both { 2 } else { 1 };
        found.borrow_mut().push((0, mb_s(bytes, time)));
    }
}

/// The ranks that this rank sends to and receives from.
fn partners(mpi: &Mpi, options: &Options) -> (Option<u32>, Option<u32>) {
    let half = mpi.ranks() / 2;
    let usual = || (0..half).map(|rank| (rank, rank + half)).collect();
    let pairs = options.pairs.clone().unwrap_or_else(usual);
    let to = pairs.iter().find(|(from, _)| *from == mpi.rank()).map(|(_, to)| *to);
    let from = pairs.iter().find(|(_, to)| *to == mpi.rank()).map(|(from, _)| *from);
    (to, from)
}

/// Each sending rank finds its own rate; the value is their sum.
pub(super) async fn message_rate(mpi: &Mpi, options: &Options, found: &Measurements) {
    let (to, from) = partners(mpi, options);
    barrier(mpi, &Group::all(mpi), READY).await;
    let time = windows(mpi, options, to, from).await;
    if to.is_some() {
        let messages = f64::from(options.window * options.iterations);
        found.borrow_mut().push((u64::from(mpi.rank()), messages / time.as_ns() * 1e9));
    }
}

/// As many messages under way as there may be, without windows: the rate at which each receiver gets them, from the
/// first to the last, summed up.
pub(super) async fn stream(mpi: &Mpi, options: &Options, found: &Measurements) {
    let (to, from) = partners(mpi, options);
    let count = options.window * options.iterations;
    barrier(mpi, &Group::all(mpi), READY).await;
    if let Some(from) = from {
        let mut requests = Vec::new();
        for _ in 0..count {
            requests.push(mpi.irecv(from, DATA, options.size).await);
        }
        mpi.send(from, READY, 0).await;
        // Not from the very first on: the path has to fill.
        let (fill, rest) = requests.split_at(count as usize / 4);
        mpi.wait_all(fill).await;
        let start = mpi.time();
        mpi.wait_all(rest).await;
        let bytes = options.size * rest.len() as u64;
        found.borrow_mut().push((u64::from(mpi.rank()), mb_s(bytes, mpi.time() - start)));
    }
    if let Some(to) = to {
        mpi.recv(to, READY, 0).await;
        let mut under_way = std::collections::VecDeque::new();
        let depth = STREAM_DEPTH.min(STREAM_BYTES / options.size.max(1)).max(1) as usize;
        for _ in 0..count {
            if under_way.len() == depth
                && let Some(oldest) = under_way.pop_front()
            {
                mpi.wait(oldest).await;
            }
            under_way.push_back(mpi.isend_acknowledged(to, DATA, options.size).await);
        }
        mpi.wait_all(under_way.make_contiguous()).await;
    }
}

pub(super) async fn nhop(mpi: &Mpi, options: &Options, found: &Measurements) {
    for peer in 1..mpi.ranks() {
        if (mpi.rank() == 0 || mpi.rank() == peer)
            && let Some(time) = ping_pong(mpi, 0, peer, options).await
        {
            found.borrow_mut().push((u64::from(peer), us(time)));
        }
    }
}

/// Mean over the ranks, for each displacement.
pub(super) async fn displaced_ring(mpi: &Mpi, options: &Options, found: &Measurements) {
    let ranks = mpi.ranks();
    for displacement in 1..=ranks / 2 {
        barrier(mpi, &Group::all(mpi), READY).await;
        let to = (mpi.rank() + displacement) % ranks;
        let from = (mpi.rank() + ranks - displacement) % ranks;
        let time = windows(mpi, options, Some(to), Some(from)).await;
        found.borrow_mut().push((u64::from(displacement), mb_s(bytes(options), time)));
    }
}
