//! How many messages of which sizes, as bars.

use std::collections::BTreeMap;

use fishplate_profile::sizes::PAPER_BOUNDS;
use maud::{Markup, html};

use crate::output::page::units;
use crate::output::text;
use crate::output::text::percent;
use crate::profile::schema::{Way, World, sum};
use crate::profile::summary;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 230.0;
const BOTTOM: f64 = 24.0;
const TOP: f64 = 18.0;

/// Kinds of messages, in the order of colours.
const WAYS: [(Way, &str); 4] = [
    (Way::Sent, "point to point"),
    (Way::Collective, "collective"),
    (Way::OneSided, "one-sided"),
    (Way::File, "files"),
];

/// A class of sizes: what each way has in it.
struct Class {
    least: u64,
    values: [u64; WAYS.len()],
}

/// Both histograms.
pub fn markup(world: &World) -> Markup {
    let mut sums: BTreeMap<u64, [(u64, u64); WAYS.len()]> = BTreeMap::new();
    for (at, (way, _)) in WAYS.iter().enumerate() {
        for (least, messages, bytes) in summary::by_size(world, *way) {
            sums.entry(least).or_default()[at] = (messages, bytes);
        }
    }
    let of = |number: fn((u64, u64)) -> u64| -> Vec<Class> {
        sums.iter().map(|(least, sums)| Class { least: *least, values: sums.map(number) }).collect()
    };
    let (messages, bytes) = (of(|sum| sum.0), of(|sum| sum.1));
    html! {
        section .sizes {
            h2 { "Sizes of messages" }
            p .note { "Each bar: from a power of two up to the next. A collective operation counts once for each rank, with the bytes that the rank sends in it." }
            @if messages.is_empty() { p { "No messages were sent." } } @else {
                p .legend { @for (at, (_, name)) in WAYS.iter().enumerate() {
                    @if messages.iter().any(|class| class.values[at] > 0) {
                        span .key { i class=(format!("chip w{at}")) {} span { (name) } }
                    }
                } }
                div .grid2 {
                    figure { figcaption { h3 { "Messages" } } (histogram("Messages by size", &messages, text::thousands)) }
                    figure { figcaption { h3 { "Bytes" } } (histogram("Bytes by size", &bytes, text::bytes)) }
                }
                (classes(world))
            }
        }
    }
}

/// By the few classes that the papers have.
fn classes(world: &World) -> Markup {
    let bounds = PAPER_BOUNDS.map(units::size);
    html! {
        div .scroll { table {
            thead { tr { th { "messages, bytes" } @for bound in &bounds { th .number { "below " (bound) } } th .number { (bounds[bounds.len() - 1]) " and above" } } }
            tbody { @for (way, name) in WAYS {
                @let sums = summary::paper_classes(world, way);
                @if sums.iter().any(|(messages, _)| *messages > 0) {
                    tr { th { (name) } @for (messages, bytes) in sums { td .number { @if messages > 0 { (text::thousands(messages)) ", " (text::bytes(bytes)) } @else { "-" } } } }
                }
            } }
        } }
    }
}

fn histogram(title: &str, classes: &[Class], shown: fn(u64) -> String) -> Markup {
    let all = with_gaps(classes);
    let greatest = all.iter().map(|class| sum(class.values)).max().unwrap_or(0).max(1);
    let total = sum(all.iter().flat_map(|class| class.values));
    let step = WIDTH / all.len().max(1) as f64;
    // A name under each bar, or under every second one, ...
    let every = (52.0 / step).ceil().max(1.0) as usize;
    let scale = (HEIGHT - BOTTOM - TOP) / greatest as f64;
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(title) {
            text .tick x="0" y="12" { "greatest: " (shown(greatest)) }
            line .axis x1="0" x2=(WIDTH) y1=(HEIGHT - BOTTOM) y2=(HEIGHT - BOTTOM) {}
            @for (at, class) in all.iter().enumerate() {
                @let x = at as f64 * step;
                @for way in 0..WAYS.len() {
                    @let below = sum(class.values[..way].iter().copied());
                    @let high = class.values[way] as f64 * scale;
                    @if high > 0.0 {
                        rect class=(format!("w{way}")) x=(format!("{:.1}", x + step * 0.08)) width=(format!("{:.1}", step * 0.84)) height=(format!("{:.2}", high.max(1.0)))
                            y=(format!("{:.2}", HEIGHT - BOTTOM - below as f64 * scale - high.max(1.0))) {
                            title { "from " (units::size(class.least)) ", " (WAYS[way].1) ": " (shown(class.values[way])) ", " (percent(class.values[way] as f64, total as f64)) }
                        }
                    }
                }
                @if at % every == 0 { text .tick x=(format!("{:.1}", (x + step / 2.0).min(WIDTH - 24.0))) y=(HEIGHT - 7.0) text-anchor="middle" { (units::size(class.least)) } }
            }
        }
    }
}

/// Includes empty classes between nonempty ones.
fn with_gaps(classes: &[Class]) -> Vec<Class> {
    let mut all: Vec<Class> = Vec::new();
    for class in classes {
        while let Some(last) = all.last().map(|last| last.least)
            && last > 0
            && last * 2 < class.least
        {
            all.push(Class { least: last * 2, values: [0; WAYS.len()] });
        }
        all.push(Class { least: class.least, values: class.values });
    }
    all
}
