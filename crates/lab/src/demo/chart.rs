//! The page's pictures, as SVG.

use maud::{Markup, html};

use super::{Results, Spread, StackResults, size_name};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 50.0;
/// Least distance of two labels, from base line to base line.
const LABEL_GAP: f64 = 17.0;
/// Height of the vertical axis over the greatest value: room for a label above it.
const HEADROOM: f64 = 1.12;
/// How many lines the vertical axis has, about.
const TICKS: f64 = 6.0;

/// Maps sizes and bandwidths to places in the picture.
struct Axes {
    sizes: Vec<u64>,
    step: f64,
    top: f64,
}

impl Axes {
    fn of(results: &Results) -> Axes {
        let all = results.stacks.iter().flat_map(|stack| stack.bandwidth.values().flatten()).chain(&results.sum);
        let greatest = all.copied().fold(1.0, f64::max);
        let step = tick_step(greatest);
        Axes { sizes: results.sizes(), step, top: greatest * HEADROOM }
    }

    /// Logarithmic.
    fn x(&self, size: u64) -> f64 {
        let log = |size: u64| (size.max(1) as f64).log2();
        let (first, last) = (self.sizes.first().copied().unwrap_or(1), self.sizes.last().copied().unwrap_or(2));
        let along = if first == last { 0.5 } else { (log(size) - log(first)) / (log(last) - log(first)) };
        LEFT + 12.0 + along * (WIDTH - LEFT - RIGHT - 24.0)
    }

    /// Linear, from 0.
    fn y(&self, mbps: f64) -> f64 {
        HEIGHT - BOTTOM - mbps / self.top * (HEIGHT - TOP - BOTTOM)
    }
}

/// Bandwidth over message size, one line a stack, with the sum of the rails.
pub fn bandwidth(results: &Results) -> Markup {
    let axes = Axes::of(results);
    let sum = Spread::of(&results.sum);
    let best = results.rails.iter().filter_map(|rail| Spread::of(&rail.alone)).map(|s| s.median).fold(0.0, f64::max);
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
            aria-label="Bandwidth in megabytes a second over message size, one line for each stack" {
            (grid(&axes))
            @if best > 0.0 { (reference(&axes, best, "best rail alone", "alone", Beside::EndBelow)) }
            @if let Some(sum) = sum { (reference(&axes, sum.median, "sum of the rails, measured", "sum", Beside::StartAbove)) }
            // The product last, on top.
            @for (index, stack) in results.stacks.iter().enumerate() { (line(&axes, index, stack)) }
            (end_labels(&axes, results))
        }
    }
}

/// Shares of the rails: what Fishplate sent over each, above what each can carry.
pub fn shares(results: &Results) -> Markup {
    let alone: Vec<f64> = results.rails.iter().map(|r| Spread::of(&r.alone).map_or(0.0, |s| s.median)).collect();
    let total: f64 = alone.iter().sum();
    let sent = results
        .rails
        .iter()
        .map(|rail| results.shares.iter().find(|share| share.rail == rail.name).map_or(0.0, |share| share.share));
    let bars: [(&str, Vec<f64>); 2] = [
        ("Fishplate sent", sent.collect()),
        ("Rails can carry", alone.iter().map(|rate| rate / total.max(f64::MIN_POSITIVE)).collect()),
    ];
    let (left, width, bar, gap) = (128.0, WIDTH - 128.0, 40.0, 14.0);
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {}", 2.0 * bar + gap)) role="img"
            aria-label="Share of the bytes that Fishplate sent over each rail, and share of what each rail can carry" {
            @for (row, (title, parts)) in bars.iter().enumerate() {
                @let y = row as f64 * (bar + gap);
                text .name x=(left - 14.0) y=(y + bar / 2.0 + 5.0) text-anchor="end" { (title) }
                @for (index, part) in parts.iter().enumerate() {
                    @let before: f64 = parts[..index].iter().sum();
                    @let x = left + before * width;
                    @let w = (part * width - 2.0).max(0.0);
                    rect class=(format!("rail{index} row{row}")) x=(f(x)) y=(f(y)) width=(f(w)) height=(bar) rx="3" {}
                    @if w > 60.0 {
                        text class=(format!("onbar{row}")) x=(f(x + 12.0)) y=(f(y + bar / 2.0 + 5.0)) {
                            @if w > 190.0 { (results.rails[index].name) ", " (results.rails[index].mbit) " Mbit/s: " }
                            @else if w > 110.0 { (results.rails[index].mbit) ": " }
                            (format!("{:.1} %", part * 100.0))
                        }
                    }
                }
            }
        }
    }
}

fn grid(axes: &Axes) -> Markup {
    let count = (axes.top / axes.step).floor() as u32;
    let bottom = HEIGHT - BOTTOM;
    html! {
        @for tick in 0..=count {
            @let value = f64::from(tick) * axes.step;
            @let y = axes.y(value);
            line class=(if tick == 0 { "axis" } else { "grid" }) x1=(LEFT) x2=(WIDTH - RIGHT) y1=(f(y)) y2=(f(y)) {}
            text .tick x=(LEFT - 8.0) y=(f(y + 4.0)) text-anchor="end" { (value) }
        }
        @for size in &axes.sizes {
            @let x = axes.x(*size);
            line .axis x1=(f(x)) x2=(f(x)) y1=(bottom) y2=(bottom + 5.0) {}
            text .tick x=(f(x)) y=(bottom + 20.0) text-anchor="middle" { (size_name(*size)) }
        }
        text .caption x=(f((LEFT + WIDTH - RIGHT) / 2.0)) y=(HEIGHT - 6.0) text-anchor="middle" { "message size" }
    }
}

/// Where the name of a level line stands.
enum Beside {
    StartAbove,
    EndBelow,
}

/// A level line with its name.
fn reference(axes: &Axes, mbps: f64, name: &str, class: &str, place: Beside) -> Markup {
    let y = axes.y(mbps);
    let (x, drop, anchor) = match place {
        Beside::StartAbove => (LEFT + 8.0, -6.0, "start"),
        Beside::EndBelow => (WIDTH - RIGHT - 8.0, 18.0, "end"),
    };
    html! {
        line class=(class) x1=(LEFT) x2=(WIDTH - RIGHT) y1=(f(y)) y2=(f(y)) {}
        text class={ "level " (class) } x=(x) y=(f(y + drop)) text-anchor=(anchor) {
            (name) ": " (format!("{mbps:.1}"))
        }
    }
}

fn line(axes: &Axes, index: usize, stack: &StackResults) -> Markup {
    let points: Vec<(u64, Spread)> =
        stack.bandwidth.iter().filter_map(|(size, values)| Some((*size, Spread::of(values)?))).collect();
    let path: Vec<String> =
        points.iter().map(|(size, s)| format!("{:.1},{:.1}", axes.x(*size), axes.y(s.median))).collect();
    html! {
        g class=(format!("stack s{index}")) {
            polyline points=(path.join(" ")) {}
            @for (size, spread) in &points {
                @let x = f(axes.x(*size));
                line .whisker x1=(x) x2=(x) y1=(f(axes.y(spread.least))) y2=(f(axes.y(spread.greatest))) {}
                circle cx=(x) cy=(f(axes.y(spread.median))) r="4" {
                    title {
                        (stack.name) ", " (size_name(*size)) ": " (format!("{:.1} MB/s", spread.median))
                        (format!(" ({:.1} to {:.1})", spread.least, spread.greatest))
                    }
                }
            }
        }
    }
}

/// Names of the lines at their right ends, moved apart where they would overlap.
fn end_labels(axes: &Axes, results: &Results) -> Markup {
    let mut labels: Vec<(usize, &str, f64, f64)> = Vec::new();
    for (index, stack) in results.stacks.iter().enumerate() {
        let Some((size, values)) = stack.bandwidth.last_key_value() else { continue };
        let Some(spread) = Spread::of(values) else { continue };
        labels.push((index, &stack.name, axes.x(*size), axes.y(spread.median)));
    }
    let places = apart(&labels.iter().map(|label| label.3).collect::<Vec<_>>(), LABEL_GAP, HEIGHT - BOTTOM);
    html! {
        @for ((index, name, x, y), place) in labels.iter().zip(places) {
            line class=(format!("leader s{index}")) x1=(f(x + 7.0)) y1=(f(*y)) x2=(f(x + 20.0)) y2=(f(place)) {}
            text class=(format!("name s{index}")) x=(f(x + 24.0)) y=(f(place + 4.5)) { (name) }
        }
    }
}

/// Heights near the wanted ones, at least `gap` from each other, none below `lowest`.
fn apart(wanted: &[f64], gap: f64, lowest: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    for pair in order.windows(2) {
        places[pair[1]] = places[pair[1]].max(places[pair[0]] + gap);
    }
    // What was pushed too low goes back up, with all above it that are in the way.
    let mut limit = lowest;
    for index in order.iter().rev() {
        places[*index] = places[*index].min(limit);
        limit = places[*index] - gap;
    }
    places
}

/// A round step that gives about [`TICKS`] lines up to `top`.
fn tick_step(top: f64) -> f64 {
    let rough = top / TICKS;
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough).unwrap_or(10.0);
    factor * power
}

fn f(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(tick_step(150.0), 25.0);
        assert_eq!(tick_step(1.0), 0.2);
        assert_eq!(tick_step(3000.0), 500.0);
    }

    #[test]
    fn labels_move_apart() {
        assert_eq!(apart(&[10.0, 50.0], 17.0, 100.0), [10.0, 50.0]);
        assert_eq!(apart(&[20.0, 20.0, 21.0], 10.0, 100.0), [20.0, 30.0, 40.0]);
        assert_eq!(apart(&[99.0, 99.0], 10.0, 100.0), [90.0, 100.0]);
        assert!(apart(&[], 10.0, 100.0).is_empty());
    }
}
