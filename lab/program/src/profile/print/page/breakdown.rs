//! Where the time of each rank went, as bars.

use fishplate_profile::calls::Group;
use maud::{Markup, html};

use crate::output::text::{percent, time};
use crate::profile::schema::{Rank, World};
use crate::profile::summary;

/// Numbers of the ranks with the longest and the shortest waiting time that have a bar, if there are more ranks.
const LONGEST_WAITING: usize = 96;
const SHORTEST_WAITING: usize = 32;
const WIDTH: f64 = 1140.0;
const LEFT: f64 = 150.0;
const ROW: f64 = 18.0;

/// A part of a rank's time: what it was spent on, and how long it is in nanoseconds.
type Part = (String, u64);

/// Parts of the time of a rank; the position of a part is its colour class.
fn parts(rank: &Rank) -> Vec<Part> {
    let mut parts = vec![
        ("outside of MPI".to_string(), rank.outside_ns()),
        ("late senders".into(), rank.late.sender_ns),
        ("late receivers".into(), rank.late.receiver_ns),
        ("late in collectives".into(), rank.late.collective_ns),
    ];
    let groups = summary::transfer_by_group(rank);
    parts.extend(groups.into_iter().map(|(group, ns)| (group_name(group), ns)));
    parts
}

fn group_name(group: Group) -> String {
    format!("{group}, transfer and overhead")
}

pub fn markup(world: &World) -> Markup {
    let mut ranks: Vec<&Rank> = world.ranks.iter().collect();
    let is_part = ranks.len() > LONGEST_WAITING + SHORTEST_WAITING;
    if is_part {
        ranks.sort_by_key(|rank| std::cmp::Reverse(rank.late.total_ns()));
        ranks.drain(LONGEST_WAITING..ranks.len() - SHORTEST_WAITING);
    }
    let longest = ranks.iter().map(|rank| rank.run_ns.max(1)).max().unwrap_or(1) as f64;
    let height = ROW * ranks.len() as f64 + 6.0;
    let bars: Vec<(&Rank, Vec<Part>)> = ranks.into_iter().map(|rank| (rank, parts(rank))).collect();
    let names = bars.first().into_iter().flat_map(|(_, parts)| parts).map(|(name, _)| name);
    let is_used = |part: usize| bars.iter().any(|(_, parts)| parts[part].1 > 0);
    html! {
        section .breakdown {
            h2 { "Where the time went" }
            p .note {
                "From MPI_Init until each rank was last seen."
                @if is_part { " Of " (world.ranks.len()) " ranks, the " (LONGEST_WAITING) " that waited longest for others, and the " (SHORTEST_WAITING) " that waited least: those are waited for." }
            }
            figure {
                p .legend { @for (part, name) in names.enumerate().filter(|(part, _)| is_used(*part)) {
                    span .key { i class=(format!("chip t{part}")) {} span { (name) } }
                } }
                svg viewBox=(format!("0 0 {WIDTH} {height:.0}")) role="img" aria-label="Time of each rank" {
                    @for (row, (rank, parts)) in bars.iter().enumerate() {
                        @let y = ROW * row as f64;
                        text .tick x=(LEFT - 10.0) y=(format!("{:.1}", y + 12.5)) text-anchor="end" { (rank.rank) " · " (rank.host) }
                        (bar(rank, parts, longest, y))
                    }
                }
            }
        }
    }
}

fn bar(rank: &Rank, parts: &[Part], longest: f64, y: f64) -> Markup {
    let scale = (WIDTH - LEFT) / longest;
    let mut x = LEFT;
    let mut drawn = Vec::new();
    for (part, (name, ns)) in parts.iter().enumerate() {
        let wide = (*ns as f64 * scale).min(WIDTH - x);
        if wide > 0.05 {
            drawn.push((part, name, *ns as f64, x, wide));
            x += wide;
        }
    }
    html! {
        @for (part, name, ns, x, wide) in drawn {
            rect class=(format!("t{part}")) x=(format!("{x:.1}")) y=(format!("{:.1}", y + 2.0)) width=(format!("{wide:.2}")) height=(ROW - 4.0) {
                title { "rank " (rank.rank) ", " (name) ": " (time(ns)) ", " (percent(ns, rank.run_ns as f64)) }
            }
        }
    }
}
