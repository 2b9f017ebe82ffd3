//! A profile as text for the terminal: no line longer than 100 characters.

use fishplate_profile::sizes::PAPER_BOUNDS;

use super::findings;
use crate::output::text::{cut, percent, time, wrapped};
use crate::output::{page::units, text};
use crate::profile::schema::{Counts, Place, Profile, Rank, Way, World};
use crate::profile::summary;

/// Most letters of a line.
const WIDTH: usize = 100;
/// Most letters of a place in the program.
const PLACE: usize = 34;
/// Most letters of the library that a place is in, where there is no room for all.
const MODULE: usize = 10;
/// Most letters of a name of a function of MPI, a program, an MPI library.
const NAME: usize = 26;
/// Most programs that are shown in full.
const MAX_WORLDS: usize = 3;
/// Most interfaces that have a row.
const INTERFACES: usize = 8;

/// The tables. `top` is how many calls and sites are shown.
pub fn render(profile: &Profile, top: usize) -> String {
    let mut parts = Vec::new();
    let worlds = summary::by_time(profile);
    for world in worlds.iter().take(MAX_WORLDS) {
        parts.push(program(world, top));
    }
    for world in worlds.iter().skip(MAX_WORLDS) {
        parts.push(headline(world));
    }
    parts.extend(rails(profile, top));
    let mut lines = findings::of_profile(profile);
    for world in worlds.iter().take(MAX_WORLDS) {
        let name = if worlds.len() > 1 { format!("{}: ", summary::programs(world)) } else { String::new() };
        lines.extend(findings::of_world(world).iter().map(|line| format!("{name}{line}")));
    }
    parts.push(lines.iter().map(|line| wrapped(&format!("! {line}"), WIDTH) + "\n").collect());
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n").trim_end().to_string()
}

fn program(world: &World, top: usize) -> String {
    let mut text = format!("{}\n{}\n", headline(world), breakdown(world));
    for line in [Some(findings::basis(world)), findings::overlap(world), findings::balance(world)].into_iter().flatten()
    {
        text += &format!("{}\n", wrapped(&line, WIDTH));
    }
    for table in [calls(world, top), sites(world, top), classes(world)] {
        text += &format!("\n{table}\n");
    }
    text
}

/// Program, hosts and duration.
fn headline(world: &World) -> String {
    let longest = world.ranks.iter().map(|rank| rank.run_ns).max().unwrap_or(0);
    let library = world.library.lines().next().unwrap_or_default().split(',').next().unwrap_or_default();
    let library = library.split_whitespace().collect::<Vec<_>>().join(" ");
    format!(
        "{}: {} on {}, {}; {}",
        cut(&summary::programs(world), NAME),
        text::plural(world.size as u64, "rank"),
        text::plural(summary::hosts(world) as u64, "host"),
        time(longest as f64),
        cut(&library, NAME),
    )
}

/// Where the time went: of the mean rank, and of those with least and most.
fn breakdown(world: &World) -> String {
    type Part = (&'static str, fn(&Rank) -> u64);
    let parts: [Part; 7] = [
        ("run", |rank| rank.run_ns),
        ("outside of MPI", Rank::outside_ns),
        ("in MPI", |rank| rank.in_mpi_ns),
        ("  late senders", |rank| rank.late.sender_ns),
        ("  late receivers", |rank| rank.late.receiver_ns),
        ("  late in collectives", |rank| rank.late.collective_ns),
        ("  transfer and overhead", Rank::transfer_ns),
    ];
    let mean =
        |of: fn(&Rank) -> u64| summary::mean(&world.ranks.iter().map(|rank| of(rank) as f64).collect::<Vec<_>>());
    let run = mean(|rank| rank.run_ns);
    let mut table = text::table(&["time of a rank", "mean", "of run", "least", "rank", "most", "rank"], 1);
    for (name, of) in parts {
        let mut ranks: Vec<&Rank> = world.ranks.iter().collect();
        ranks.sort_by_key(|rank| of(rank));
        let (Some(least), Some(most)) = (ranks.first(), ranks.last()) else { continue };
        table.add_row([
            name.to_string(),
            time(mean(of)),
            percent(mean(of), run),
            time(of(least) as f64),
            least.rank.to_string(),
            time(of(most) as f64),
            most.rank.to_string(),
        ]);
    }
    table.to_string()
}

fn in_mpi(world: &World) -> f64 {
    world.total(|rank| rank.in_mpi_ns) as f64
}

/// Columns that calls and sites have in common.
fn counts(counts: &Counts, in_mpi: f64) -> [String; 6] {
    [
        text::thousands(counts.count),
        time(counts.time_ns as f64),
        percent(counts.time_ns as f64, in_mpi),
        time(counts.time_ns as f64 / counts.count.max(1) as f64),
        time(counts.longest_ns as f64),
        text::bytes(counts.sent),
    ]
}

fn calls(world: &World, top: usize) -> String {
    let mut table = text::table(&["call", "calls", "time", "of MPI", "mean", "longest", "sent", "late"], 1);
    let all = summary::calls(world);
    for call in all.iter().take(top) {
        let late = percent(call.late_ns as f64, call.counts.time_ns as f64);
        table.add_row([cut(&call.call, NAME)].into_iter().chain(counts(&call.counts, in_mpi(world))).chain([late]));
    }
    format!("{table}{}", rest(all.len(), top))
}

fn sites(world: &World, top: usize) -> String {
    let mut table = text::table(&["place", "call", "calls", "time", "of MPI", "mean"], 2);
    let all = summary::sites(world);
    for site in all.iter().take(top) {
        let [count, time, share, mean, ..] = counts(&site.counts, in_mpi(world));
        let place = world.places.get(site.place).map_or(String::new(), place);
        table.add_row([place, cut(&site.call, NAME), count, time, share, mean]);
    }
    format!("{table}{}", rest(all.len(), top))
}

/// The end of a long function name matters most: the start is its namespace.
fn place(place: &Place) -> String {
    let text = place.short();
    let Some((function, module)) = text.split_once(" in ").filter(|_| text.chars().count() > PLACE) else {
        return cut(&text, PLACE);
    };
    let module = cut(module, MODULE);
    let room = PLACE.saturating_sub(" in ".len() + module.chars().count());
    let left_out = function.chars().count().saturating_sub(room);
    let end: String = function.chars().skip(left_out + usize::from(left_out > 0)).collect();
    format!("{}{end} in {module}", if left_out > 0 { "…" } else { "" })
}

fn rest(all: usize, top: usize) -> String {
    let more = all.saturating_sub(top);
    if more > 0 { format!("\n  {more} more: --top {all} shows them, and the page") } else { String::new() }
}

fn classes(world: &World) -> String {
    let mut titles = vec!["messages, bytes".to_string(), format!("below {}", units::size(PAPER_BOUNDS[0]))];
    titles.extend(PAPER_BOUNDS[1..].iter().map(|bound| format!("below {}", units::size(*bound))));
    titles.push(format!("{} and above", units::size(PAPER_BOUNDS[PAPER_BOUNDS.len() - 1])));
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = text::table(&titles, 1);
    let ways =
        [("sent", Way::Sent), ("collective", Way::Collective), ("one-sided", Way::OneSided), ("files", Way::File)];
    for (name, way) in ways {
        let sums = summary::paper_classes(world, way);
        if sums.iter().any(|(messages, _)| *messages > 0) {
            let cell = |(messages, bytes): (u64, u64)| match messages {
                0 => "-".to_string(),
                // Exact as long as there is room.
                _ if messages < 1_000_000 => format!("{}, {}", text::thousands(messages), text::bytes(bytes)),
                _ => format!("{}, {}", units::quantity(messages as f64, ""), text::bytes(bytes)),
            };
            table.add_row([name.to_string()].into_iter().chain(sums.map(cell)));
        }
    }
    table.to_string()
}

fn rails(profile: &Profile, top: usize) -> Option<String> {
    let mut all = summary::interfaces(&profile.hosts);
    all.sort_by_key(|(_, _, sent, received)| std::cmp::Reverse(sent + received));
    if all.is_empty() {
        return None;
    }
    let mut table = text::table(&["host", "interface", "sent", "received"], 2);
    for (host, interface, sent, received) in all.iter().take(top.min(INTERFACES)) {
        table.add_row([host.clone(), interface.clone(), text::bytes(*sent), text::bytes(*received)]);
    }
    Some(format!("{table}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_are_too_long() {
        let shown = |function: &str, module: &str| {
            place(&Place { function: Some(function.into()), module: module.into(), ..Place::default() })
        };
        assert_eq!(shown("exchange", "/usr/lib/libsolver.so.3.1.4159"), "exchange in libsolver.so.3.1.4159");
        assert_eq!(shown("exchange", "/usr/lib/libsolver.so.3.1.4159.26"), "exchange in libsolver…");
        let python = shown("__pyx_f_6mpi4py_3MPI_PyMPI_recv", "/x/MPI.mpich.cpython-311-x86_64-linux-gnu.so");
        assert_eq!(python, "…4py_3MPI_PyMPI_recv in MPI.mpich…");
        assert_eq!(python.chars().count(), PLACE);
    }
}
