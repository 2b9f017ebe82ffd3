//! A chart as an SVG file of its own, in one theme, for documents that are no page of ours.

use maud::{Markup, PreEscaped, html};

use super::{CHARTS, COLOURS, palette};

/// Space around the chart.
const MARGIN: f64 = 12.0;

/// On which ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

/// The file: a chart of this size, with the colours of these stacks.
pub fn render(chart: &Markup, (width, height): (f64, f64), stacks: &[String], theme: Theme) -> String {
    let place = format!("svg svg {{ width: {width}px; height: {height}px; }}\n.sheet {{ fill: var(--sheet); }}\n");
    let style = settled(&format!("{COLOURS}{CHARTS}{}{place}", palette::colours(stacks)), theme);
    let (whole_width, whole_height) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {whole_width} {whole_height}"))
            width=(whole_width) height=(whole_height) font-family="system-ui, sans-serif" {
            style { (PreEscaped(style)) }
            rect .sheet width=(whole_width) height=(whole_height) rx="8" {}
            g transform=(format!("translate({MARGIN} {MARGIN})")) { (chart) }
        }
    };
    picture.into_string() + "\n"
}

/// Style rules with each `light-dark(A, B)` resolved for the theme: programs that show pictures may not know the
/// function.
fn settled(rules: &str, theme: Theme) -> String {
    let mut parts = rules.split("light-dark(");
    let mut settled = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (colours, rest) = part.split_once(')').unwrap_or((part, ""));
        let (light, dark) = colours.split_once(", ").unwrap_or((colours, colours));
        settled += if theme == Theme::Light { light } else { dark };
        settled += rest;
    }
    settled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_stands_alone_in_its_theme() {
        let chart = html! { svg .plot viewBox="0 0 9 9" {} };
        let stacks = ["Fishplate".to_string()];
        let [light, dark] = [Theme::Light, Theme::Dark].map(|theme| render(&chart, (9.0, 9.0), &stacks, theme));
        for picture in [&light, &dark] {
            assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"));
            assert!(!picture.contains("light-dark(") && !picture.contains("body"));
        }
        assert!(light.contains("--own: #d04a02;") && dark.contains("--own: #ff7f45;"));
    }
}
