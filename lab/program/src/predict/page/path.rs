//! The critical path over time, as a picture.

use fishplate_sim::mpi::chain::{Piece, Spent};
use fishplate_sim::replay::CriticalPath;
use maud::{Markup, html};

use crate::output::text::{percent, plural, time};

/// Categories on the path, with their colour classes.
const PARTS: [(&str, &str); 4] = [("computation", "t0"), ("software", "t6"), ("latency", "t2"), ("bandwidth", "t4")];
/// Columns of the picture.
const COLUMNS: usize = 190;
/// Maximum number of ranks with a share.
const MAX_RANKS: usize = 8;
const WIDTH: f64 = 1140.0;
const LEFT: f64 = 150.0;
const HEIGHT: f64 = 110.0;

/// The part of each kind in each column, 0 to 1.
fn columns(pieces: &[Piece]) -> Vec<[f64; 4]> {
    let run = pieces.last().map_or(0.0, |piece| piece.until.0 as f64);
    let each = run / COLUMNS as f64;
    let mut columns = vec![[0.0; 4]; COLUMNS];
    let (mut begun, mut before): (f64, Spent) = (0.0, Spent::default());
    for piece in pieces {
        let until = piece.until.0 as f64;
        let long = until - begun;
        if long > 0.0 {
            let (first, last) = ((begun / each) as usize, ((until / each) as usize).min(COLUMNS - 1));
            for (at, column) in columns.iter_mut().enumerate().take(last + 1).skip(first) {
                let within = until.min((at + 1) as f64 * each) - begun.max(at as f64 * each);
                for (part, share) in column.iter_mut().enumerate() {
                    let spent = (piece.spent[part] - before[part]).0 as f64;
                    *share += spent / long * within.max(0.0) / each;
                }
            }
        }
        (begun, before) = (until, piece.spent);
    }
    columns
}

/// How long it was at each rank in nanoseconds, longest first.
fn ranks(pieces: &[Piece]) -> Vec<(u32, f64)> {
    let mut ranks = std::collections::BTreeMap::new();
    let mut begun = 0.0;
    for piece in pieces {
        *ranks.entry(piece.rank).or_insert(0.0) += piece.until.as_ns() - begun;
        begun = piece.until.as_ns();
    }
    let mut ranks: Vec<(u32, f64)> = ranks.into_iter().collect();
    ranks.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranks
}

/// The picture, with what it shows in words.
pub fn markup(path: &CriticalPath) -> Markup {
    let run_ns = path.pieces.last().map_or(0.0, |piece| piece.until.as_ns());
    let wide = (WIDTH - LEFT) / COLUMNS as f64;
    let ranks = ranks(&path.pieces);
    html! {
        section .breakdown {
            h2 { "Critical path" }
            p .note {
                "The chain of dependencies from the end of the last rank back to the start. It goes over "
                (plural(path.messages, "message")) "; a change beside it does not change the run time."
            }
            figure {
                p .legend { @for (name, class) in PARTS { span .key { i class=(format!("chip {class}")) {} span { (name) } } } }
                svg viewBox=(format!("0 0 {WIDTH} {:.0}", HEIGHT + 22.0)) role="img" aria-label="Critical path over time" {
                    text .tick x=(LEFT - 10.0) y="14" text-anchor="end" { "share of time" }
                    @for (at, column) in columns(&path.pieces).iter().enumerate() { (stack(column, LEFT + at as f64 * wide, wide)) }
                    text .tick x=(LEFT) y=(HEIGHT + 18.0) { "0" }
                    text .tick x=(WIDTH) y=(HEIGHT + 18.0) text-anchor="end" { (time(run_ns)) }
                }
            }
            p .note {
                "It is at "
                @for (at, (rank, ns)) in ranks.iter().take(MAX_RANKS).enumerate() {
                    @if at > 0 { ", " } "rank " (rank) " for " (percent(*ns, run_ns))
                }
                @if ranks.len() > MAX_RANKS { ", and at " (ranks.len() - MAX_RANKS) " more" }
                ", with messages to it."
            }
        }
    }
}

fn stack(column: &[f64; 4], x: f64, wide: f64) -> Markup {
    let mut y = HEIGHT;
    let mut drawn = Vec::new();
    for ((name, class), share) in PARTS.iter().zip(column) {
        let high = share * HEIGHT;
        if high > 0.05 {
            y -= high;
            drawn.push((name, class, share, y, high));
        }
    }
    html! {
        @for (name, class, share, y, high) in drawn {
            rect class=(class) x=(format!("{x:.2}")) y=(format!("{y:.2}")) width=(format!("{wide:.2}")) height=(format!("{high:.2}")) {
                title { (name) ": " (percent(*share, 1.0)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fishplate_sim::models::time::Time;

    use super::*;

    #[test]
    fn columns_are_full_and_ranks_have_all_the_time() {
        let piece = |until, [computed, sent]: [u64; 2], rank| {
            let spent = [Time::ms(computed), Time::default(), Time::default(), Time::ms(sent)];
            Piece { until: Time::ms(until), spent, rank }
        };
        let pieces = [piece(40, [40, 0], 0), piece(50, [40, 10], 0), piece(50, [40, 10], 1), piece(100, [90, 10], 1)];
        let columns = columns(&pieces);
        for column in &columns {
            assert!((column.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{column:?}");
        }
        let computed: f64 = columns.iter().map(|column| column[0]).sum();
        assert!((computed / COLUMNS as f64 - 0.9).abs() < 1e-9);
        assert_eq!(ranks(&pieces), [(0, 5e7), (1, 5e7)]);
    }
}
