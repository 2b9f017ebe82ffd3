//! When the ranks of a host know that a rail has another rate, and what it costs until all do.

use super::case::Case;
use crate::models::time::Time;
use crate::mpi::knowledge::{Knowledge, Look};

/// From one time to another.
pub(super) type Window = (Time, Time);

/// A rank's estimates before and after a change differ by this factor at least, or they do not tell.
const TELLS: f32 = 1.25;
/// Estimates vary: this number of looks is averaged.
const AVERAGED: usize = 10;

/// A change, from when it happens until all is measured with it, and the windows that are measured before and with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// When it happens.
    pub at: Time,
    /// Measured before it,
    pub before: Window,
    /// and with it.
    pub with: Window,
}

/// What follows from a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changed {
    /// When the first and the last rank of a host know of it: means over hosts, in milliseconds after it.
    pub learned_ms: Option<[f64; 2]>,
    /// Goodput that is missing until it has settled, as time at the goodput that is reached then, in milliseconds.
    pub lost_ms: f64,
}

/// What has followed from a change. A rank knows from when its estimate is nearer to that with the change than to that
/// before; ranks whose estimates hardly differ do not count.
pub(super) fn changed(case: &Case, knowledge: &Knowledge, change: Change) -> Changed {
    let hosts = (0..case.hosts).filter_map(|host| {
        let ranks = host * case.per_host..(host + 1) * case.per_host;
        let times: Vec<Time> = ranks.filter_map(|rank| learned(knowledge, change, rank as usize)).collect();
        Some([times.iter().min()?.as_ns() / 1e6, times.iter().max()?.as_ns() / 1e6])
    });
    let hosts: Vec<[f64; 2]> = hosts.collect();
    let mean = |at: usize| hosts.iter().map(|times| times[at]).sum::<f64>() / hosts.len() as f64;
    let learned_ms = (!hosts.is_empty()).then(|| [mean(0), mean(1)]);
    Changed { learned_ms, lost_ms: lost_ms(knowledge, change) }
}

/// When a rank has learned of a change.
fn learned(knowledge: &Knowledge, Change { at, before, with }: Change, rank: usize) -> Option<Time> {
    let of = |looks: &[Look]| looks.iter().map(|look| look.rates[rank]).sum::<f32>() / looks.len().max(1) as f32;
    let [before, after] = [before, with].map(|window| of(looks(knowledge, window)));
    let told = (before / after).max(after / before);
    let knows = |looks: &[Look]| (of(looks) > (before * after).sqrt()) == (after > before);
    let since = || {
        let found = looks(knowledge, (at, with.1)).windows(AVERAGED).find(|looks| knows(looks));
        found.and_then(|looks| looks.first()).map_or(with.1, |look| look.at) - at
    };
    (told >= TELLS).then(since)
}

fn looks(knowledge: &Knowledge, (from, to): Window) -> &[Look] {
    let all = knowledge.looks();
    let [from, to] = [from, to].map(|time| all.partition_point(|look| look.at <= time));
    &all[from..to]
}

/// What is missing from a change to the window that is measured with it.
fn lost_ms(knowledge: &Knowledge, Change { at, with, .. }: Change) -> f64 {
    let rate = |(from, to): Window| knowledge.bytes((from, to)) as f64 / (to - from).as_ns();
    (1.0 - rate((at, with.0)) / rate(with)) * (with.0 - at).as_ns() / 1e6
}
