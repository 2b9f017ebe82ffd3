//! Lines about errors of a program, and gaps in its profile.

use std::collections::BTreeMap;

use crate::output::text;
use crate::output::text::{named_ranks, percent, time};
use crate::profile::schema::{End, Profile, Rank, World, sum};
use crate::profile::{summary, unseen};

/// Most lines about ranks that have not finished.
const MAX_LINES: usize = 8;

/// Of a whole profile.
pub fn of_profile(profile: &Profile) -> Vec<String> {
    let mut lines = Vec::new();
    if profile.worlds.is_empty() {
        lines.push(unseen::line(profile));
    }
    if profile.worlds.len() > 1 {
        lines.push(format!("{} MPI programs ran; each has its own tables", profile.worlds.len()));
    }
    if profile.hosts.iter().any(|host| host.is_cut) {
        lines.push("the disk was full: interfaces over time are cut".into());
    }
    lines.extend(profile.unreadable.iter().map(|problem| format!("left out: {problem}")));
    lines
}

pub fn of_world(world: &World) -> Vec<String> {
    let mut lines = unseen::absent(world);
    lines.extend(ends(world));
    let count = |of: fn(&Rank) -> bool| -> Vec<usize> {
        world.ranks.iter().filter(|rank| of(rank)).map(|rank| rank.rank).collect()
    };
    let cut = count(|rank| rank.series.as_ref().is_some_and(|series| series.is_cut));
    if !cut.is_empty() {
        lines.push(format!("the disk was full: curves over time are cut for {}", named_ranks(&cut)));
    }
    let paused = count(|rank| rank.paused_ns > 0);
    if !paused.is_empty() {
        let longest = world.ranks.iter().map(|rank| rank.paused_ns).max().unwrap_or(0);
        let who = named_ranks(&paused);
        lines.push(format!("MPI_Pcontrol kept recording off for up to {} ({who})", time(longest as f64)));
    }
    let threads = world.ranks.iter().map(|rank| rank.threads).max().unwrap_or(0);
    if threads > 1 {
        lines.push(format!("up to {threads} threads of a rank were in MPI at once: times in MPI are their sums"));
    }
    lines.extend(lost(world));
    let errors = world.total(|rank| sum(rank.calls.iter().map(|call| call.errors)));
    if errors > 0 {
        lines.push(format!("{} returned an error", text::plural(errors, "call")));
    }
    if world.ranks.iter().flat_map(|rank| &rank.calls).any(|call| call.call.starts_with("MPI_Comm_spawn")) {
        lines.push("it has spawned other programs, which have their own tables".into());
    }
    lines.extend(clocks(world));
    lines
}

/// Ranks that did not end with MPI_Finalize; ranks in one state share a line.
fn ends(world: &World) -> Vec<String> {
    let mut aborted: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
    // By call and place: ranks, and for how long at most.
    type Where<'a> = (Option<&'a str>, Option<usize>);
    let mut stuck: BTreeMap<Where<'_>, (Vec<usize>, u64)> = BTreeMap::new();
    for rank in &world.ranks {
        match &rank.end {
            End::Finalized => {}
            End::Aborted(code) => aborted.entry(*code).or_default().push(rank.rank),
            End::Unfinished { call, place, for_ns } => {
                let (ranks, longest_ns) = stuck.entry((call.as_deref(), *place)).or_default();
                ranks.push(rank.rank);
                *longest_ns = (*longest_ns).max(*for_ns);
            }
        }
    }
    let mut lines: Vec<String> = aborted
        .into_iter()
        .map(|(code, ranks)| format!("{} called MPI_Abort with code {code}", named_ranks(&ranks)))
        .collect();
    let were = |ranks: &[usize]| if ranks.len() == 1 { "was" } else { "were" };
    // The smallest groups first: the cause is probably there.
    let mut stuck: Vec<_> = stuck.into_iter().collect();
    stuck.sort_by_key(|(_, (ranks, _))| ranks.len());
    let more = stuck.len().saturating_sub(MAX_LINES);
    lines.extend(stuck.into_iter().take(MAX_LINES).map(|((call, place), (ranks, longest_ns))| {
        let who = format!("{} did not call MPI_Finalize: {}", named_ranks(&ranks), were(&ranks));
        let (most, longest) = (if ranks.len() == 1 { "for" } else { "for up to" }, time(longest_ns as f64));
        match call {
            Some(call) => {
                let at = place.and_then(|place| world.places.get(place));
                let at = at.map_or(String::new(), |place| format!(" at {}", place.short()));
                format!("{who} in {call}{at} {most} the last {longest}")
            }
            None => format!("{who} outside of MPI {most} the last {longest}"),
        }
    }));
    if more > 0 {
        lines.push(format!("ranks that did not call MPI_Finalize were in {more} more places"));
    }
    lines
}

fn lost(world: &World) -> Vec<String> {
    let lost = [
        (world.total(|rank| rank.lost.requests), "requests were too many to be kept: their receives are not counted"),
        (
            world.total(|rank| rank.lost.sites),
            "calls were at places that are too many to be kept: they are in no place",
        ),
        (
            world.total(|rank| rank.lost.communicators),
            "communicators were too many to be kept: the last one counts for all of them",
        ),
    ];
    lost.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
}

/// Clocks that are known so badly that waiting for late peers is in doubt.
fn clocks(world: &World) -> Vec<String> {
    let unknown = world.clocks.iter().filter(|clock| clock.uncertainty_ns.is_none() && world.clocks.len() > 1);
    let hosts: Vec<&str> = unknown.flat_map(|clock| &clock.hosts).map(String::as_str).collect();
    if hosts.is_empty() {
        return Vec::new();
    }
    let hosts = hosts.join(", ");
    vec![format!(
        "no messages went both ways to {hosts}: late peers there are found by the time of day, which may be wrong"
    )]
}

/// Basis of the estimates of waiting for late peers.
pub fn basis(world: &World) -> String {
    let late = summary::late(world);
    let mut text = format!("Late ranks are estimated from {} events", text::thousands(late.events));
    if late.sampling > 0 {
        text += &format!(" (1 of {})", 1_u64 << late.sampling.min(63));
    }
    if late.unmatched > 0 {
        text += &format!(", without {} more whose other side is missing", text::thousands(late.unmatched));
    }
    let doubt = world.clocks.iter().filter_map(|clock| clock.uncertainty_ns).max().unwrap_or(0);
    if doubt > 0 {
        text += &format!("; clocks agree within {}", time(doubt as f64));
    }
    text
}

/// How far requests went on while the program computed.
pub fn overlap(world: &World) -> Option<String> {
    let hidden = summary::overlap(world)?;
    let ranks = world.ranks.len() as f64;
    let mean = |of: fn(&Rank) -> u64| world.total(of) as f64 / ranks;
    Some(format!(
        "Overlap: {} of the time of requests was hidden by computation: {} a rank; waited: {}",
        percent(hidden, 1.0),
        time(mean(|rank| rank.hidden_ns)),
        time(mean(|rank| rank.waited_ns)),
    ))
}

/// How evenly the work is distributed.
pub fn balance(world: &World) -> Option<String> {
    let imbalance = summary::imbalance(world).filter(|_| world.ranks.len() > 1)?;
    let busiest = world.ranks.iter().max_by_key(|rank| rank.outside_ns())?;
    Some(format!(
        "Load imbalance {imbalance:.2}: rank {} was outside of MPI for {}, {imbalance:.2} times the mean of all",
        busiest.rank,
        time(busiest.outside_ns() as f64),
    ))
}
