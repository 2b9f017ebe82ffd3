//! One iteration of a program's main loop, standing for all iterations: a small file that describes a long run.
//!
//! It contains the calls that each rank repeats; the computation before each call is the mean over all iterations. Lengths in
//! vectors of lengths may differ between iterations; those of the first iteration are kept.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::duration_code::{Coder, decode};
use super::operation::{CollectiveKind, Operation, Sizes};
use super::rank_file::Header;
use super::read::{RankTrace, Step, Trace};

/// First bytes of a file, before compression; the last byte is the version of the format.
const MAGIC: [u8; 8] = *b"FPCYCLE\x02";
/// Compression level: high, as files are written once and kept.
const LEVEL: i32 = 19;
/// Limit of a file before compression, in bytes.
const MAX_RAW_BYTES: usize = 64 << 20;
/// Limit of the number of calls between the last barrier before the loop and the loop.
const MAX_BEFORE: usize = 64;

/// One iteration of all ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cycle {
    magic: [u8; 8],
    ranks: Vec<RankCycle>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RankCycle {
    /// Definitions of communicators before the loop.
    communicators: Vec<Operation>,
    operations: Vec<Operation>,
    /// Index into `operations`, duration code of the computation before the call.
    calls: Vec<(u32, u16)>,
}

/// Why no cycle was found or read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CycleError {
    /// This rank has no barrier before a loop.
    #[error("rank {0} has no barrier before its loop")]
    NoBarrier(u32),
    /// This rank repeats no sequence of calls that often after the last barrier.
    #[error("nothing is repeated {0} times by all ranks after their last barrier")]
    NoLoop(u32),
    /// A file is not a cycle, or of another version.
    #[error("this is no iteration of a loop, or of another version")]
    NotACycle,
}

impl Cycle {
    /// Finds the loop of `iterations` iterations after the last barrier.
    ///
    /// All ranks begin the loop after the same number of calls, so that no message crosses its beginning.
    ///
    /// # Errors
    /// If there is no such loop.
    pub fn of(trace: &Trace, iterations: u32) -> Result<Cycle, CycleError> {
        let begun = trace.ranks.iter().map(|rank| Ok((rank, after_barrier(rank)?))).collect::<Result<Vec<_>, _>>()?;
        let shapes: Vec<Vec<u32>> = begun.iter().map(|(rank, begin)| shapes(rank, *begin)).collect();
        for before in 0..MAX_BEFORE {
            let periods = shapes.iter().map(|shapes| period(shapes.get(before..)?, iterations as usize));
            if let Some(periods) = periods.collect::<Option<Vec<usize>>>() {
                let ranks = begun.iter().zip(periods);
                let ranks =
                    ranks.map(|((rank, begin), period)| RankCycle::of(rank, begin + before, period, iterations));
                return Ok(Cycle { magic: MAGIC, ranks: ranks.collect() });
            }
        }
        Err(CycleError::NoLoop(iterations))
    }

    /// A trace of `times` iterations. It contains processor times but no idle times.
    pub fn repeated(&self, times: u32) -> Trace {
        let count = self.ranks.len() as u32;
        Trace { ranks: (0..).zip(&self.ranks).map(|(number, rank)| rank.repeated((number, count), times)).collect() }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Number of calls of a rank in one iteration.
    pub fn calls(&self, rank: u32) -> impl Iterator<Item = &Operation> {
        let rank = &self.ranks[rank as usize];
        rank.calls.iter().map(|(operation, _)| &rank.operations[*operation as usize])
    }

    /// Encodes the cycle as a file.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn encode(&self) -> Result<Vec<u8>, std::io::Error> {
        let bytes = postcard::to_stdvec(self).map_err(std::io::Error::other)?;
        zstd::bulk::compress(&bytes, LEVEL)
    }

    /// Decodes the output of [`Cycle::encode`].
    ///
    /// # Errors
    /// If the bytes are not a cycle of this version.
    pub fn decode(bytes: &[u8]) -> Result<Cycle, CycleError> {
        let raw = zstd::bulk::decompress(bytes, MAX_RAW_BYTES).map_err(|_| CycleError::NotACycle)?;
        let cycle: Cycle = postcard::from_bytes(&raw).map_err(|_| CycleError::NotACycle)?;
        let is_whole =
            |rank: &RankCycle| rank.calls.iter().all(|(operation, _)| (*operation as usize) < rank.operations.len());
        let is_ours = cycle.magic == MAGIC && !cycle.ranks.is_empty() && cycle.ranks.iter().all(is_whole);
        if is_ours { Ok(cycle) } else { Err(CycleError::NotACycle) }
    }
}

impl RankCycle {
    fn of(rank: &RankTrace, begin: usize, period: usize, iterations: u32) -> RankCycle {
        let mut defined = BTreeMap::new();
        for step in &rank.steps[..begin] {
            let operation = &rank.operations[step.operation as usize];
            if let Operation::Communicator { number, .. } = operation {
                defined.insert(*number, operation.clone());
            }
        }
        let mut places = FxHashMap::default();
        let mut operations = Vec::new();
        let mut coder = Coder::default();
        let calls = (begin..begin + period).map(|at| {
            let operation = &rank.operations[rank.steps[at].operation as usize];
            let place = *places.entry(operation).or_insert_with(|| {
                operations.push(operation.clone());
                operations.len() as u32 - 1
            });
            let all = (0..iterations as usize).map(|iteration| rank.steps[at + iteration * period].processor_ns);
            (place, coder.encode(all.sum::<u64>() / u64::from(iterations)))
        });
        let calls = calls.collect();
        RankCycle { communicators: defined.into_values().collect(), operations, calls }
    }

    fn repeated(&self, (rank, ranks): (u32, u32), times: u32) -> RankTrace {
        let header = Header::synthetic(rank, ranks);
        let defined = self.communicators.len() as u32;
        let operations: Vec<Operation> =
            self.communicators.iter().chain(&self.operations).cloned().chain([Operation::End]).collect();
        let step = |operation, processor_ns| Step { operation, processor_ns, idle_ns: 0 };
        let mut steps: Vec<Step> = (0..defined).map(|place| step(place, 0)).collect();
        for _ in 0..times {
            steps.extend(self.calls.iter().map(|(place, code)| step(defined + place, decode(*code))));
        }
        steps.push(step(operations.len() as u32 - 1, 0));
        RankTrace { header, operations, steps, is_whole: true }
    }
}

/// Index of the call after a rank's last barrier.
fn after_barrier(rank: &RankTrace) -> Result<usize, CycleError> {
    let is_barrier = |step: &Step| match &rank.operations[step.operation as usize] {
        Operation::Collective(collective) => collective.kind == CollectiveKind::Barrier,
        _ => false,
    };
    let last = rank.steps.iter().rposition(is_barrier);
    last.map(|at| at + 1).ok_or(CycleError::NoBarrier(rank.header.rank))
}

/// The shapes of calls, numbered: calls that differ only in vectors of lengths have equal numbers.
fn shapes(rank: &RankTrace, begin: usize) -> Vec<u32> {
    let mut numbers = FxHashMap::default();
    let of_operation: Vec<u32> = rank
        .operations
        .iter()
        .map(|operation| {
            let next = numbers.len() as u32;
            *numbers.entry(shape(operation)).or_insert(next)
        })
        .collect();
    rank.steps[begin..].iter().map(|step| of_operation[step.operation as usize]).collect()
}

fn shape(operation: &Operation) -> Operation {
    let mut shape = operation.clone();
    if let Operation::Collective(collective) = &mut shape {
        for sizes in [&mut collective.sent, &mut collective.received] {
            if let Sizes::Of(lengths) = sizes {
                lengths.fill(0);
            }
        }
    }
    shape
}

/// Length of the longest sequence that is repeated `iterations` times from the beginning on.
fn period(shapes: &[u32], iterations: usize) -> Option<usize> {
    let is_repeated = |period: &usize| {
        let until = period * iterations;
        shapes[*period..until].iter().zip(shapes).all(|(later, earlier)| later == earlier)
    };
    (1..=shapes.len() / iterations).rev().find(is_repeated)
}
