//! Lines over an axis, as SVG: one a stack, with a mark and a band of spread at each place.

use maud::{Markup, html};

use super::axis::{Axis, Base};
use super::{palette, units};
use crate::statistics::Spread;

const LEFT: f64 = 74.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 48.0;
/// Width of the labels at the right end of the horizontal axis.
const RIGHT: f64 = 26.0;
/// Room for the lines' names.
const RIGHT_NAMED: f64 = 215.0;
/// Least distance of two names, from base line to base line.
const NAME_GAP: f64 = 17.0;
/// Least width of a name under the horizontal axis.
const TICK_WIDTH: f64 = 62.0;
/// Least height between names beside the vertical axis.
const TICK_HEIGHT: f64 = 38.0;
/// Distance of marks from the frame.
const INSET: f64 = 12.0;

/// A chart to draw.
pub struct Chart<'a> {
    /// Description for screen readers.
    pub title: String,
    /// Width and height.
    pub size: (f64, f64),
    /// The horizontal axis.
    pub x: Horizontal<'a>,
    /// The vertical axis.
    pub y: Axis,
    /// Unit of the values.
    pub unit: &'a str,
    /// One a stack.
    pub lines: Vec<Line<'a>>,
    /// Values that lines are to be seen against.
    pub levels: Vec<Level<'a>>,
    /// Whether the lines' names stand at their ends.
    pub named: bool,
}

/// The horizontal axis.
pub struct Horizontal<'a> {
    /// Name of the axis.
    pub caption: String,
    /// Base of a logarithmic axis; `None`: a linear one.
    pub base: Option<Base>,
    /// All places that any line has, in order.
    pub places: Vec<f64>,
    /// A place in words.
    pub name: &'a dyn Fn(f64) -> String,
}

/// A stack's values.
pub struct Line<'a> {
    /// The stack's position, which gives colour and mark.
    pub stack: usize,
    pub name: &'a str,
    /// Values by place.
    pub points: Vec<(f64, Spread)>,
}

/// A level line.
pub struct Level<'a> {
    pub value: f64,
    pub name: &'a str,
    /// Its class in the style.
    pub class: &'a str,
}

/// Maps values to places in the picture.
struct Frame {
    x: Axis,
    y: Axis,
    right: f64,
    bottom: f64,
}

impl Frame {
    fn x(&self, place: f64) -> f64 {
        LEFT + INSET + self.x.at(place) * (self.right - LEFT - 2.0 * INSET)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - self.y.at(value).max(0.0) * (self.bottom - TOP)
    }
}

impl Chart<'_> {
    pub fn draw(&self) -> Markup {
        let (width, height) = self.size;
        let right = width - if self.named { RIGHT_NAMED } else { RIGHT };
        let x = Axis::along(&self.x.places, self.x.base);
        let frame = Frame { x, y: self.y.clone(), right, bottom: height - BOTTOM };
        html! {
            svg .plot viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(self.title) {
                (self.grid(&frame))
                @for level in &self.levels { (self.level(&frame, level)) }
                @for line in &self.lines { (band(&frame, line)) }
                line .cursor x1="0" x2="0" y1=(TOP) y2=(frame.bottom) {}
                @for line in &self.lines { (self.line(&frame, line)) }
                @if self.named { (self.names(&frame)) }
            }
        }
    }

    fn grid(&self, frame: &Frame) -> Markup {
        let (right, bottom) = (frame.right, frame.bottom);
        let rows = ((bottom - TOP) / TICK_HEIGHT) as usize;
        let columns = ((right - LEFT) / TICK_WIDTH) as usize;
        // A long unit stands once, above the axis.
        let unit = if units::has_ladder(self.unit) { self.unit } else { "" };
        html! {
            @for value in frame.y.ticks(rows) {
                @let y = frame.y(value);
                line .grid x1=(LEFT) x2=(right) y1=(f(y)) y2=(f(y)) {}
                text .tick x=(LEFT - 8.0) y=(f(y + 4.0)) text-anchor="end" { (units::round(value, unit)) }
            }
            @if unit.is_empty() { text .caption x="4" y=(TOP - 2.0) { (self.unit) } }
            line .axis x1=(LEFT) x2=(right) y1=(f(bottom)) y2=(f(bottom)) {}
            @for place in frame.x.ticks_at(&self.x.places, columns) {
                @let x = frame.x(place);
                line .axis x1=(f(x)) x2=(f(x)) y1=(f(bottom)) y2=(f(bottom + 5.0)) {}
                text .tick x=(f(x)) y=(f(bottom + 19.0)) text-anchor="middle" { ((self.x.name)(place)) }
            }
            text .caption x=(f((LEFT + right) / 2.0)) y=(f(bottom + 40.0)) text-anchor="middle" { (self.x.caption) }
        }
    }

    fn level(&self, frame: &Frame, level: &Level) -> Markup {
        let y = frame.y(level.value);
        html! {
            line class=(level.class) x1=(LEFT) x2=(frame.right) y1=(f(y)) y2=(f(y)) {}
            text class={ "level " (level.class) } x=(LEFT + 8.0) y=(f(y - 6.0)) {
                (level.name) ": " (units::quantity(level.value, self.unit))
            }
        }
    }

    fn line(&self, frame: &Frame, line: &Line) -> Markup {
        let path: Vec<String> =
            line.points.iter().map(|(place, s)| point(frame.x(*place), frame.y(s.median))).collect();
        html! {
            g class=(format!("stack s{}", line.stack)) data-name=(line.name) {
                polyline points=(path.join(" ")) {}
                @for (place, spread) in &line.points {
                    @let (x, y) = (frame.x(*place), frame.y(spread.median));
                    @let value = format_spread(spread, self.unit);
                    @let place = (self.x.name)(*place);
                    path d=(palette::mark(line.stack, x, y)) data-x=(f(x)) data-place=(place) data-value=(value) {
                        title { (line.name) ", " (place) ": " (value) }
                    }
                }
            }
        }
    }

    /// Names of the lines at their right ends, moved apart where they would overlap.
    fn names(&self, frame: &Frame) -> Markup {
        let ends = self.lines.iter().filter_map(|line| {
            let (place, spread) = line.points.last()?;
            Some((line, frame.x(*place), frame.y(spread.median)))
        });
        let ends: Vec<(&Line, f64, f64)> = ends.collect();
        let places = apart(&ends.iter().map(|end| end.2).collect::<Vec<_>>(), NAME_GAP, frame.bottom);
        html! {
            @for ((line, x, y), place) in ends.iter().zip(places) {
                g class=(format!("end s{}", line.stack)) {
                    line .leader x1=(f(x + 7.0)) y1=(f(*y)) x2=(f(x + 20.0)) y2=(f(place)) {}
                    text .name x=(f(x + 24.0)) y=(f(place + 4.5)) { (line.name) }
                }
            }
        }
    }
}

/// A value with its spread, in words.
pub fn format_spread(spread: &Spread, unit: &str) -> String {
    let median = units::quantity(spread.median, unit);
    if spread.least == spread.greatest {
        return median;
    }
    format!("{median} ({})", units::range(spread.least, spread.greatest, unit))
}

/// From the least to the greatest value.
fn band(frame: &Frame, line: &Line) -> Markup {
    let upper = line.points.iter().map(|(place, s)| point(frame.x(*place), frame.y(s.greatest)));
    let lower = line.points.iter().rev().map(|(place, s)| point(frame.x(*place), frame.y(s.least)));
    let outline: Vec<String> = upper.chain(lower).collect();
    html! { polygon class=(format!("band s{}", line.stack)) points=(outline.join(" ")) {} }
}

/// Heights near the wanted ones, at least `gap` from each other, none below `lowest`.
fn apart(wanted: &[f64], gap: f64, lowest: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    for pair in order.windows(2) {
        places[pair[1]] = places[pair[1]].max(places[pair[0]] + gap);
    }
    // Labels that were pushed too low move back up, with all labels above that are in the way.
    let mut limit = lowest;
    for index in order.iter().rev() {
        places[*index] = places[*index].min(limit);
        limit = places[*index] - gap;
    }
    places
}

fn point(x: f64, y: f64) -> String {
    format!("{x:.1},{y:.1}")
}

fn f(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_move_apart() {
        assert_eq!(apart(&[10.0, 50.0], 17.0, 100.0), [10.0, 50.0]);
        assert_eq!(apart(&[20.0, 20.0, 21.0], 10.0, 100.0), [20.0, 30.0, 40.0]);
        assert_eq!(apart(&[99.0, 99.0], 10.0, 100.0), [90.0, 100.0]);
        assert!(apart(&[], 10.0, 100.0).is_empty());
    }

    #[test]
    fn values_are_reported_with_their_spread() {
        let spread = Spread { median: 1000.0, least: 990.0, greatest: 1200.0 };
        assert_eq!(format_spread(&spread, "us"), "1.00 ms (990 us–1.20 ms)");
        assert_eq!(format_spread(&Spread { median: 5.0, least: 5.0, greatest: 5.0 }, "us"), "5.00 us");
    }
}
