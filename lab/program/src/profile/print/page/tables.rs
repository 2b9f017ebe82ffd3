//! Sentences and tables of the page.

use maud::{Markup, html};

use crate::output::text;
use crate::output::text::{percent, time};
use crate::profile::print::findings;
use crate::profile::schema::{Counts, End, Place, Rank, World};
use crate::profile::summary;

const MAX_ROWS: usize = 60;

/// Over all ranks.
fn total(world: &World, of: fn(&Rank) -> u64) -> f64 {
    world.total(of) as f64
}

/// The most important in a sentence.
pub fn lead(world: &World) -> Markup {
    let run = total(world, |rank| rank.run_ns);
    let late = total(world, |rank| rank.late.total_ns());
    html! {
        p .lead {
            (text::plural(world.size as u64, "rank")) " on " (text::plural(summary::hosts(world) as u64, "host"))
            " spent " strong { (percent(total(world, |rank| rank.in_mpi_ns), run)) } " of their time in MPI: "
            (percent(late, run)) " waiting for ranks that were late, "
            (percent(total(world, Rank::transfer_ns), run))
            " in transfer and overhead."
        }
    }
}

/// The most important numbers.
pub fn tiles(world: &World) -> Markup {
    let longest = world.ranks.iter().map(|rank| rank.run_ns).max().unwrap_or(0);
    let ranks = world.ranks.len().max(1) as f64;
    let sent = world.total(Rank::sent);
    let tile = |value: String, of: &str| html! { li { span .value { (value) } span .of { (of) } } };
    html! {
        ul .tiles {
            (tile(time(longest as f64), "from MPI_Init to the end"))
            (tile(time(total(world, |rank| rank.in_mpi_ns) / ranks), "in MPI, of a rank"))
            (tile(time(total(world, |rank| rank.late.total_ns()) / ranks), "of that waiting for late ranks"))
            @if let Some(hidden) = summary::overlap(world) { (tile(percent(hidden, 1.0), "of requests' time hidden behind computation")) }
            @if let Some(imbalance) = summary::imbalance(world) { (tile(format!("{imbalance:.2}"), "load imbalance")) }
            (tile(text::bytes(sent), "sent by all ranks"))
        }
        p .note { (findings::basis(world)) ". " @if let Some(line) = findings::balance(world) { (line) ". " } @if let Some(line) = findings::overlap(world) { (line) "." } }
    }
}

fn counts(counts: &Counts, in_mpi: f64) -> Markup {
    html! {
        td .number { (text::thousands(counts.count)) }
        td .number { (time(counts.time_ns as f64)) }
        td .number { (percent(counts.time_ns as f64, in_mpi)) }
        td .number { (time(counts.time_ns as f64 / counts.count.max(1) as f64)) }
        td .number { (time(counts.longest_ns as f64)) }
        td .number { (text::bytes(counts.sent)) }
        td .number { (text::bytes(counts.received)) }
    }
}

fn titles(first: &[&str], numbers: &[&str]) -> Markup {
    html! { thead { tr { @for title in first { th { (title) } } @for title in numbers { th .number { (title) } } } } }
}

const COUNTS: [&str; 7] = ["calls", "time", "of MPI", "mean", "longest", "sent", "received"];

pub fn calls(world: &World) -> Markup {
    let in_mpi = total(world, |rank| rank.in_mpi_ns);
    html! {
        section { h2 { "Calls" } div .scroll { table {
            (titles(&["call"], &[&COUNTS[..], &["late ranks", "errors"]].concat()))
            tbody { @for call in summary::calls(world) { tr {
                th { (call.call) } (counts(&call.counts, in_mpi))
                td .number { (percent(call.late_ns as f64, call.counts.time_ns as f64)) } td .number { (call.errors) }
            } } }
        } } }
    }
}

pub fn sites(world: &World) -> Markup {
    let in_mpi = total(world, |rank| rank.in_mpi_ns);
    let all = summary::sites(world);
    html! {
        // A program that was not run has none.
        @if !all.is_empty() { section {
            h2 { "Where the program calls MPI" }
            @if all.len() > MAX_ROWS { p .note { "The first " (MAX_ROWS) " of " (all.len()) "; the record has all." } }
            div .scroll { table {
                (titles(&["place", "function", "call"], &COUNTS))
                tbody { @for site in all.iter().take(MAX_ROWS) {
                    @let place = world.places.get(site.place).cloned().unwrap_or_default();
                    tr { th title=(full(&place)) { (place.short()) } td .function { (place.function.as_deref().unwrap_or("-")) } td { (site.call) } (counts(&site.counts, in_mpi)) }
                } }
            } }
        } }
    }
}

fn full(place: &Place) -> String {
    let source = place.file.as_ref().map(|file| format!("{file}:{}, ", place.line.unwrap_or(0)));
    format!("{}{}+{:#x}", source.unwrap_or_default(), place.module, place.offset)
}

pub fn communicators(world: &World) -> Markup {
    let all = summary::communicators(world);
    html! {
        @if !all.is_empty() { section { h2 { "Communicators" } div .scroll { table {
            (titles(&["name"], &["ranks", "calls", "time", "sent", "received"]))
            tbody { @for own in all.iter().take(MAX_ROWS) { tr {
                th { @if own.name.is_empty() { "without a name" } @else { (own.name) } }
                td .number { (own.size) } td .number { (text::thousands(own.calls)) } td .number { (time(own.time_ns as f64)) }
                td .number { (text::bytes(own.sent)) } td .number { (text::bytes(own.received)) }
            } } }
        } } } }
    }
}

/// Rank by rank, those that waited longest first.
pub fn ranks(world: &World) -> Markup {
    let mut ranks: Vec<&Rank> = world.ranks.iter().collect();
    ranks.sort_by_key(|rank| std::cmp::Reverse(rank.late.total_ns()));
    let titles_of_numbers =
        ["run", "outside", "in MPI", "late senders", "late receivers", "late in collectives", "sent"];
    html! {
        section { h2 { "Ranks" } p .note { "Those that waited longest for others first." }
        details open[ranks.len() <= 32] { summary { (text::plural(ranks.len() as u64, "rank")) } div .scroll { table .dense {
            (titles(&["rank", "host", "process", "end"], &titles_of_numbers))
            tbody { @for rank in ranks { tr {
                th { (rank.rank) } td { (rank.host) } td { (rank.pid) } td { (end(rank)) }
                @for ns in [rank.run_ns, rank.outside_ns(), rank.in_mpi_ns, rank.late.sender_ns, rank.late.receiver_ns, rank.late.collective_ns] {
                    td .number { (time(ns as f64)) }
                }
                td .number { (text::bytes(rank.sent())) }
            } } }
        } } } }
    }
}

fn end(rank: &Rank) -> String {
    match &rank.end {
        End::Finalized => "MPI_Finalize".into(),
        End::Aborted(code) => format!("MPI_Abort, code {code}"),
        End::Unfinished { call: Some(call), for_ns, .. } => format!("in {call} for {}", time(*for_ns as f64)),
        End::Unfinished { .. } => "outside of MPI".into(),
    }
}
