//! Bars, as SVG: one value a stack, and shares of a whole.

use maud::{Markup, html};

use super::{chart, palette};
use crate::statistics::Spread;

/// Most that names at the left take of the width.
const MAX_NAMES_PART: f64 = 0.45;
/// Width of the room for values at the right.
const VALUES: f64 = 190.0;
const HEIGHT: f64 = 34.0;
/// About the width of a letter.
const LETTER: f64 = 7.6;

/// A stack's bar.
pub struct Bar<'a> {
    /// The stack's position, which gives colour and mark.
    pub stack: usize,
    pub name: &'a str,
    pub spread: Spread,
}

/// One value a stack, from 0, with a whisker from the least to the greatest.
pub fn values(title: &str, width: f64, unit: &str, bars: &[Bar]) -> Markup {
    let left = room(width, bars.iter().map(|bar| bar.name));
    let greatest = bars.iter().map(|bar| bar.spread.greatest).fold(f64::MIN_POSITIVE, f64::max);
    let x = |value: f64| left + value / greatest * (width - left - VALUES);
    html! {
        svg .plot viewBox=(format!("0 0 {width} {:.0}", HEIGHT * bars.len() as f64 + 8.0)) role="img" aria-label=(title) {
            line .axis x1=(left) x2=(left) y1="0" y2=(HEIGHT * bars.len() as f64 + 8.0) {}
            @for (row, bar) in bars.iter().enumerate() {
                @let y = 4.0 + row as f64 * HEIGHT + HEIGHT / 2.0;
                @let (least, greatest) = (f(x(bar.spread.least)), f(x(bar.spread.greatest)));
                g class=(format!("stack s{}", bar.stack)) data-name=(bar.name) {
                    text .name x=(left - 12.0) y=(f(y + 4.5)) text-anchor="end" { (bar.name) }
                    rect .bar x=(left) y=(f(y - 8.0)) width=(f(x(bar.spread.median) - left)) height="16" {}
                    line .whisker x1=(least) x2=(greatest) y1=(f(y)) y2=(f(y)) {}
                    path d=(palette::mark(bar.stack, x(bar.spread.median), y)) {}
                    text .value x=(f(x(bar.spread.greatest) + 12.0)) y=(f(y + 4.5)) { (chart::format_spread(&bar.spread, unit)) }
                }
            }
        }
    }
}

/// A part of a whole.
pub struct Part {
    pub name: String,
    /// How much of the whole, 0 to 1.
    pub share: f64,
}

pub struct Whole {
    pub name: String,
    /// The class of its colour; empty for none.
    pub class: String,
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

/// Wholes one below the other.
pub fn shares(title: &str, width: f64, wholes: &[Whole]) -> Markup {
    let left = room(width, wholes.iter().map(|whole| whole.name.as_str()));
    let right = width - left;
    html! {
        svg .shares viewBox=(format!("0 0 {width} {:.0}", (HEIGHT + 8.0) * wholes.len() as f64)) role="img" aria-label=(title) {
            @for (row, Whole { name, class, parts }) in wholes.iter().enumerate() {
                @let y = row as f64 * (HEIGHT + 8.0);
                text .name x=(left - 12.0) y=(f(y + HEIGHT / 2.0 + 4.5)) text-anchor="end" { (name) }
                g class=(class) {
                    @for (index, part) in parts.iter().enumerate() {
                        @let before: f64 = parts[..index].iter().map(|part| part.share).sum();
                        @let (x, wide) = (left + before * right, (part.share * right - 2.0).max(0.0));
                        rect class=(format!("part p{}", index % 4)) x=(f(x)) y=(f(y)) width=(f(wide)) height=(HEIGHT) rx="3" {
                            title { (words(part)) }
                        }
                        @if let Some(words) = fitting(part, wide - 20.0) {
                            text .onbar x=(f(x + 10.0)) y=(f(y + HEIGHT / 2.0 + 4.5)) { (words) }
                        }
                    }
                }
            }
        }
    }
}

/// Width of the room for names at the left.
fn room<'a>(width: f64, names: impl Iterator<Item = &'a str>) -> f64 {
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    (longest as f64 * LETTER + 16.0).min(width * MAX_NAMES_PART)
}

/// `98.0 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", if share >= 0.9995 { "100".into() } else { format!("{:.1}", share * 100.0) })
}

/// All of a part's words, or its share alone, or nothing.
fn fitting(part: &Part, width: f64) -> Option<String> {
    let fits = |words: &String| words.chars().count() as f64 * LETTER <= width;
    [words(part), percent(part.share)].into_iter().find(fits)
}

fn words(part: &Part) -> String {
    format!("{}: {}", part.name, percent(part.share))
}

fn f(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_parts_have_no_words() {
        let part = |share| Part { name: "r0, 1000 Mbit/s".into(), share };
        let parts = vec![part(0.8), part(0.18), part(0.02)];
        let rows = [Whole { name: "Fishplate".into(), class: "s0".into(), parts }];
        let drawn = shares("t", 760.0, &rows).into_string();
        assert_eq!(drawn.matches("class=\"onbar\"").count(), 2);
        // Three hints, and one on a bar.
        assert_eq!(drawn.matches("r0, 1000 Mbit/s").count(), 4);
        assert_eq!(percent(0.98), "98.0 %");
        assert_eq!(percent(1.0), "100 %");
    }
}
