//! The page: bars of time, RPI with intervals, all runs.

use maud::{Markup, PreEscaped, html};

use super::{sentences, table};
use crate::output::page::{self, axis::Axis, units};
use crate::profile::times::Times;
use crate::record::Record;
use crate::rpi::evaluate::{Evaluation, Rated, Rpi};
use crate::rpi::published;

const STYLE: &str = include_str!("rpi.css");
const WIDTH: f64 = 1140.0;
/// Room for names at the left, and for values at the right.
const LEFT: f64 = 150.0;
const RIGHT: f64 = 110.0;
/// Height of a network's row, and of the axis with the names of bounds.
const ROW: f64 = 40.0;
const AXIS: f64 = 58.0;
/// Range of the axis of RPI, in percent; values beyond it are drawn at the edge.
const MIN_PERCENT: f64 = -25.0;
const MAX_PERCENT: f64 = 125.0;

pub fn render(evaluation: &Evaluation, record: &Record) -> String {
    let title = format!("Gain of {} from better networks", evaluation.asked.program());
    let body = html! {
        style { (PreEscaped(STYLE)) }
        header {
            p .mark { "Fishplate" }
            h1 { (title) }
            p .lead { (lead(evaluation)) }
            (tiles(evaluation))
            p .note { code { (evaluation.asked.command.join(" ")) } }
            p .note {
                (sentences::headline(evaluation)) ". Measured on " (record.manifest.machine.hostname) ", "
                (record.manifest.started) "."
            }
            @if !evaluation.notes.is_empty() { ul .notes { @for note in &evaluation.notes { li { (note) } } } }
        }
        (time(evaluation))
        (worth(evaluation))
        (networks(evaluation))
        (runs(evaluation))
    };
    page::render(&title, &[], &body)
}

fn lead(evaluation: &Evaluation) -> String {
    let [ratings, bounds] = [sentences::ratings(evaluation), sentences::bounds(evaluation)];
    let first = ratings.into_iter().next().into_iter().chain(bounds.into_iter().next());
    first.map(|line| capital(&line) + ". ").collect::<String>().trim_end().to_string()
}

/// A sentence with a capital letter, unless it begins with the name of a network, which stays as it is.
fn capital(text: &str) -> String {
    let begun = [("with ", "With "), ("if ", "If "), ("no ", "No ")].into_iter();
    let mut fitting = begun.filter_map(|(small, large)| Some(format!("{large}{}", text.strip_prefix(small)?)));
    fitting.next().unwrap_or_else(|| text.to_string())
}

fn tiles(evaluation: &Evaluation) -> Markup {
    html! {
        ul .tiles {
            @for rated in &evaluation.networks {
                @if let Rpi::Percent { value, interval } = &rated.by_communication {
                    li .own {
                        span .value { (format!("{value:.0}")) small { " %" } }
                        span .of {
                            "RPI of " (rated.network.name)
                            @if let Some((low, high)) = interval { (format!(", {low:.0} to {high:.0} %")) }
                        }
                    }
                }
            }
            @for rated in evaluation.networks.iter().filter(|rated| rated.mean.is_some()) {
                li {
                    span .value { (units::digits(rated.mean.unwrap_or_default().run)) small { " s" } }
                    span .of { "on " (rated.network.name) }
                }
            }
            @if let Some(bounds) = evaluation.bounds {
                li { span .value { (units::digits(bounds.computing)) small { " s" } } span .of { "at least, on any network" } }
            }
        }
    }
}

/// Computing, waiting for late ranks, and the rest of MPI, of a mean rank.
fn parts(mean: &Times) -> [(&'static str, f64); 3] {
    [
        ("computing", (mean.run - mean.communication).max(0.0)),
        ("waiting for late ranks", mean.late),
        ("transfer and overhead of MPI", (mean.communication - mean.late).max(0.0)),
    ]
}

fn time(evaluation: &Evaluation) -> Markup {
    let rows: Vec<(&Rated, Times)> =
        evaluation.networks.iter().filter_map(|rated| Some((rated, rated.mean?))).collect();
    let longest = rows.iter().map(|(_, mean)| mean.run).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - LEFT - RIGHT) / longest;
    let bottom = ROW * rows.len() as f64;
    html! {
        section #time {
            h2 { "Where the time goes" }
            p .note { "Of a mean rank, from MPI_Init to MPI_Finalize; means over the runs." }
            figure {
                p .legend { @for (part, (name, _)) in parts(&Times::default()).iter().enumerate() {
                    span .key { i class=(format!("chip part{part}")) {} span { (name) } }
                } }
                svg viewBox=(format!("0 0 {WIDTH} {:.0}", bottom + AXIS)) role="img" aria-label="Time on each network" {
                    @for step in Axis::from_zero(&[longest]).ticks(8).into_iter().filter(|step| *step <= longest) {
                        @let x = f(LEFT + step * scale);
                        line .grid x1=(x) x2=(x) y1="0" y2=(f(bottom)) {}
                        text .tick x=(x) y=(f(bottom + 16.0)) text-anchor="middle" { (units::digits(step)) " s" }
                    }
                    @for (row, (rated, mean)) in rows.iter().enumerate() { (bar(rated, mean, row, scale)) }
                    @if let Some(bounds) = evaluation.bounds {
                        (bound("bound", "infinitely fast network", bounds.computing, scale, bottom, 34.0))
                        (bound("bound late", "late ranks stay", bounds.computing_and_late, scale, bottom, 50.0))
                    }
                }
                @for line in sentences::bounds(evaluation) { p .note { (capital(&line)) "." } }
            }
        }
    }
}

fn bar(rated: &Rated, mean: &Times, row: usize, scale: f64) -> Markup {
    let y = ROW * row as f64;
    let mut x = LEFT;
    let mut drawn = Vec::new();
    for (part, (name, seconds)) in parts(mean).into_iter().enumerate() {
        drawn.push((part, name, seconds, x));
        x += seconds * scale;
    }
    html! {
        text .name x=(f(LEFT - 12.0)) y=(f(y + 22.0)) text-anchor="end" { (rated.network.name) }
        @for (part, name, seconds, x) in drawn {
            rect class=(format!("part{part}")) x=(f(x)) y=(f(y + 6.0)) width=(f(seconds * scale)) height=(f(ROW - 14.0)) {
                title { (rated.network.name) ", " (name) ": " (sentences::seconds(seconds)) }
            }
        }
        text .value x=(f(x + 10.0)) y=(f(y + 22.0)) { (sentences::seconds(mean.run)) }
    }
}

fn bound(class: &str, name: &str, seconds: f64, scale: f64, bottom: f64, down: f64) -> Markup {
    let x = LEFT + seconds * scale;
    // Beside the line, where there is room.
    let (at, anchor) = if x > WIDTH / 2.0 { (x - 8.0, "end") } else { (x + 8.0, "start") };
    html! {
        line class=(class) x1=(f(x)) x2=(f(x)) y1="0" y2=(f(bottom + down)) {}
        text class=(class) x=(f(at)) y=(f(bottom + down)) text-anchor=(anchor) { (name) ": " (sentences::seconds(seconds)) }
    }
}

fn x_of(percent: f64) -> f64 {
    LEFT + (percent.clamp(MIN_PERCENT, MAX_PERCENT) - MIN_PERCENT) / (MAX_PERCENT - MIN_PERCENT)
        * (WIDTH - LEFT - RIGHT)
}

fn worth(evaluation: &Evaluation) -> Markup {
    let rated: Vec<&Rated> = evaluation.networks.iter().filter(|rated| rated.by_communication != Rpi::End).collect();
    let bottom = ROW * rated.len() as f64;
    let (base, best) = (&evaluation.asked.base, &evaluation.asked.best);
    html! {
        section #rpi {
            h2 { "Relative performance improvement" }
            p .note {
                "Share of the gain of " (best) " over " (base) " that a network has"
                ": 100 (X - Y) / (X - Z), with X, Y, Z the times on " (base) ", on the network, on " (best)
                ". Lines are intervals at 95 %, by Fieller's theorem over the runs. Full dots: by the communication time, mean over the ranks; hollow ones: by the run time."
            }
            figure {
                svg viewBox=(format!("0 0 {WIDTH} {:.0}", bottom + 30.0)) role="img" aria-label="RPI of each network" {
                    @for percent in [0.0, 25.0, 50.0, 75.0, 100.0] {
                        @let x = f(x_of(percent));
                        line .grid x1=(x) x2=(x) y1="0" y2=(f(bottom)) {}
                        text .tick x=(x) y=(f(bottom + 18.0)) text-anchor="middle" {
                            (format!("{percent:.0} %"))
                            @if percent == 0.0 { " " (base) } @else if percent == 100.0 { " " (best) }
                        }
                    }
                    @for (row, rated) in rated.iter().enumerate() { (dots(evaluation, rated, ROW * row as f64)) }
                }
                @if let Some(published) = sentences::published(evaluation) { p .note { "Shaded: " (published) "." } }
                @for line in sentences::ratings(evaluation) { p .note { (line) "." } }
            }
        }
    }
}

fn dots(evaluation: &Evaluation, rated: &Rated, y: f64) -> Markup {
    html! {
        text .name x=(f(LEFT - 12.0)) y=(f(y + 24.0)) text-anchor="end" { (rated.network.name) }
        @if let Some(published::Published { least, greatest }) = evaluation.published {
            rect .published x=(f(x_of(least) - 2.0)) width=(f(x_of(greatest) - x_of(least) + 4.0)) y=(f(y + 4.0)) height=(f(ROW - 8.0)) {}
        }
        (dot("by-communication", &rated.by_communication, y + 14.0))
        (dot("by-run", &rated.by_run, y + 27.0))
    }
}

fn dot(class: &str, rpi: &Rpi, y: f64) -> Markup {
    let Rpi::Percent { value, interval } = rpi else { return Markup::default() };
    html! {
        g class=(class) {
            @if let Some((low, high)) = interval {
                line .interval x1=(f(x_of(*low))) x2=(f(x_of(*high))) y1=(f(y)) y2=(f(y)) {}
            }
            circle .value cx=(f(x_of(*value))) cy=(f(y)) r="5" { title { (sentences::percent(rpi)) } }
        }
    }
}

fn networks(evaluation: &Evaluation) -> Markup {
    html! {
        section #networks {
            h2 { "Networks" }
            p .note {
                "Seconds, means over the runs. " b { "In MPI" } ": mean over the ranks, and the rank with most. "
                b { "Late" } ": of that, waiting for ranks that were late. " b { "Computing" }
                ": outside of MPI, the rank with most; " b { "and late" } ": with waiting for late ranks."
            }
            div .scroll { table {
                thead { tr {
                    @for (at, title) in table::TITLES.iter().enumerate() { th .number[at > 0] { (title) } }
                    th { "rails" } th { "stack" }
                } }
                tbody { @for rated in &evaluation.networks { tr {
                    @for (at, cell) in table::row(evaluation, rated).iter().enumerate() { td .number[at > 0] { (cell) } }
                    td { (rated.network.what) } td { (rated.network.stack) }
                } } }
            } }
        }
    }
}

fn runs(evaluation: &Evaluation) -> Markup {
    let rounds = evaluation.networks.iter().flat_map(|rated| rated.runs.iter().map(|run| run.0)).max();
    html! {
        section #runs {
            h2 { "Runs" }
            p .note { "Run time, and time in MPI, mean over the ranks, in seconds." }
            div .scroll { table {
                thead { tr { th { "run" } @for rated in &evaluation.networks { th .number { (rated.network.name) } } } }
                tbody { @for round in rounds.map_or(0..0, |last| 0..last + 1) { tr {
                    td { (round + 1) }
                    @for rated in &evaluation.networks {
                        td .number { @match rated.runs.iter().find(|run| run.0 == round) {
                            Some((_, times)) => { (units::digits(times.run)) small { " " (units::digits(times.communication)) } },
                            None => "-",
                        } }
                    }
                } } }
            } }
        }
    }
}

fn f(value: f64) -> String {
    format!("{value:.1}")
}
