//! Pages of one file each, with one style and one way of drawing. The `print` folders make pages of these parts.

pub mod axis;
pub mod bars;
pub mod chart;
pub mod palette;
pub mod picture;
pub mod units;

use fishplate_guest::printable;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const COLOURS: &str = include_str!("colours.css");
const STYLE: &str = include_str!("style.css");
const CHARTS: &str = include_str!("charts.css");
const SCRIPT: &str = include_str!("script.js");

/// A page with a title, the switch of its theme, a legend of its stacks, and a body. All of it works without the
/// script, which only shows values while the pointer is over a chart.
pub fn render(title: &str, stacks: &[String], body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style {
                    (PreEscaped(COLOURS)) (PreEscaped(CHARTS)) (PreEscaped(STYLE))
                    (PreEscaped(palette::colours(stacks))) (PreEscaped(palette::switches(stacks.len())))
                }
            }
            body {
                (theme_switch())
                main { (body) }
                div #tip role="status" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // Characters that turn the direction of writing could let a page say what it does not.
    printable(&page.into_string()).into_owned()
}

/// Colours and marks of the stacks; unticking one removes it from all charts.
pub fn legend(stacks: &[String]) -> Markup {
    html! {
        fieldset .legend {
            legend { "Stacks" }
            @for (index, stack) in stacks.iter().enumerate() {
                label class=(format!("key s{index}")) {
                    input type="checkbox" id=(format!("show-s{index}")) checked autocomplete="off";
                    (key(index)) span { (stack) }
                }
            }
        }
    }
}

/// The legend without its switches, for paper.
pub fn printed_legend(stacks: &[String]) -> Markup {
    html! {
        p .legend.printed aria-hidden="true" {
            @for (index, stack) in stacks.iter().enumerate() {
                span class=(format!("key s{index}")) { (key(index)) span { (stack) } }
            }
        }
    }
}

/// The line and mark of a stack.
pub fn key(index: usize) -> Markup {
    html! {
        svg .swatch viewBox="0 0 30 14" aria-hidden="true" {
            g class=(format!("stack s{index}")) {
                line x1="1" x2="29" y1="7" y2="7" {}
                path d=(palette::mark(index, 15.0, 7.0)) {}
            }
        }
    }
}

fn theme_switch() -> Markup {
    html! {
        fieldset .theme {
            legend { "Theme" }
            @for (id, name) in [("auto", "auto"), ("light", "light"), ("dark", "dark")] {
                label {
                    input type="radio" name="theme" id=(format!("theme-{id}")) checked[id == "auto"] autocomplete="off";
                    span { (name) }
                }
            }
        }
    }
}
