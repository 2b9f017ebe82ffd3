//! The results as one page that needs nothing else.

use maud::{Markup, html};

use super::chart;
use super::table::{COLUMNS, LARGE};
use crate::demo::{APPLICATION_TITLE, LATENCY_SIZE, Results, StackResults, measure, rounds};
use crate::output::page::units::size as size_name;
use crate::output::page::{self, bars};
use crate::statistics::Spread;

pub fn render(results: &Results) -> String {
    let stacks: Vec<String> = results.stacks.iter().map(|stack| stack.name.clone()).collect();
    let body = html! {
        (head(results))
        figure {
            figcaption {
                h2 { "Bandwidth over message size" }
                p { "Median of " (rounds(results.conditions.rounds)) "; bands from least to greatest. MB are 10⁶ bytes." }
            }
            (page::legend(&stacks))
            (chart::bandwidth(results))
        }
        @if results.has_run_times() {
            figure {
                figcaption {
                    h2 { "Run time of a program" }
                    p { (APPLICATION_TITLE) ", a rank on each host; shorter is better." }
                }
                (chart::run_time(results))
            }
        }
        @if !results.shares.is_empty() {
            figure {
                figcaption {
                    h2 { "Share of the rails" }
                    p { "Bytes that Fishplate sent over each rail, messages of 1 and 4 MiB; its settings have no rates." }
                }
                (chart::shares(results))
            }
        }
        (table(results))
        (conditions(results))
    };
    page::render("Fishplate: one MPI program over two unequal rails", &stacks, &body)
}

fn head(results: &Results) -> Markup {
    let rates: Vec<String> = results.rails.iter().map(|rail| rail.mbit.to_string()).collect();
    let sum = Spread::of(&results.sum);
    let fishplate = results.fishplate();
    let large = fishplate.and_then(|stack| Spread::of(stack.bandwidth.get(&LARGE)?));
    let ratio = fishplate.and_then(|stack| results.ratio(stack, LARGE));
    let other = results.best_other(LARGE, false);
    let rates_given = results.best_other(LARGE, true);
    html! {
        header {
            p .mark { "Fishplate" }
            h1 { "One MPI program over two unequal rails" }
            @if let Some(failure) = fishplate.and_then(|stack| stack.failure.as_ref()) {
                p .failure { "Fishplate failed in this run: " (failure) }
            } @else if let (Some(large), Some(ratio), Some((best, speed))) = (large, ratio, other) {
                p .lead {
                    "A stock MPICH program sends over rails of " (rates.join(" and ")) " Mbit/s at once, and gets "
                    strong { (bars::percent(ratio.median)) } " of what they carry together, "
                    strong { (format!("{:.2} times", large.median / speed.median)) }
                    " as much as the best other stack that has to find out by itself (" (best.name) ", " (best.rails) "). "
                    @if let Some((_, speed)) = rates_given {
                        "Open MPI gets " (format!("{:.1} MB/s", speed.median)) " with the rate of every rail set by hand."
                    }
                }
            }
            ul .tiles {
                @if let Some(large) = large { (tile("Fishplate", large.median, "own")) }
                @if let Some((best, speed)) = other { (tile(&best.name, speed.median, "")) }
                @if let Some((_, speed)) = rates_given { (tile("Open MPI, rates by hand", speed.median, "")) }
                @if let Some(sum) = sum { (tile("sum of the rails", sum.median, "")) }
            }
            p .note { "at messages of " (size_name(LARGE)) ", one direction" }
        }
    }
}

fn tile(name: &str, mbps: f64, class: &str) -> Markup {
    html! { li class=(class) { span .value { (format!("{mbps:.1}")) " " small { "MB/s" } } span .of { (name) } } }
}

fn table(results: &Results) -> Markup {
    html! {
        section {
            h2 { "All figures" }
            div .scroll { table {
                thead { tr {
                    th { "stack" } th { "rails" }
                    th .number { "latency " (size_name(LATENCY_SIZE)) }
                    @for size in COLUMNS { th .number { (size_name(size)) } }
                    th .number { "of the sum" }
                    th .number { "NAS IS" }
                } }
                tbody {
                    @for (index, stack) in results.stacks.iter().enumerate() { (row(results, index, stack)) }
                    (rail_rows(results))
                }
            } }
            p .note {
                "Latency is half of a round trip in microseconds, bandwidth is in MB/s, both medians of " (rounds(results.conditions.rounds))
                ". “Of the sum” compares messages of " (size_name(LARGE)) " with plain TCP streams over both rails at once, "
                "round by round. “NAS IS” is the run time of " (APPLICATION_TITLE) " in seconds."
            }
            @for stack in &results.stacks {
                @if let Some(failure) = &stack.failure { p .failure { (stack.name) " failed: " (failure) } }
            }
        }
    }
}

fn row(results: &Results, index: usize, stack: &StackResults) -> Markup {
    let number = |value: Option<f64>, digits: usize| value.map_or("–".into(), |v| format!("{v:.digits$}"));
    let median = |size: &u64| stack.bandwidth.get(size).and_then(|v| Spread::of(v)).map(|s| s.median);
    let ratio = results.ratio(stack, LARGE);
    html! {
        tr .own[stack.name == crate::demo::stacks::FISHPLATE] {
            th scope="row" { span class=(format!("dot s{index}")) {} (stack.name) }
            td { (stack.rails) }
            td .number { (number(measure::latency(stack).map(|l| l.median), 1)) }
            @for size in COLUMNS { td .number { (number(median(&size), 1)) } }
            td .number {
                @if let Some(ratio) = ratio {
                    (bars::percent(ratio.median)) " "
                    small { "(" (format!("{:.1}", ratio.least * 100.0)) ".." (format!("{:.1}", ratio.greatest * 100.0)) ")" }
                } @else { "–" }
            }
            td .number { (number(Spread::of(&stack.run_time).map(|time| time.median), 2)) }
        }
    }
}

/// Bandwidth of plain TCP, for comparison.
fn rail_rows(results: &Results) -> Markup {
    let alone = results.rails.iter().map(|rail| (format!("{}, {} Mbit/s", rail.name, rail.mbit), &rail.alone));
    let rows = alone.chain([("both rails at once".to_string(), &results.sum)]);
    html! {
        @for (rails, values) in rows {
            @if let Some(spread) = Spread::of(values) {
                tr .plain {
                    th scope="row" { span .dot {} "plain TCP stream" } td { (rails) } td .number { "–" }
                    td .number colspan=(COLUMNS.len()) {
                        (format!("{:.1} ({:.1}..{:.1})", spread.median, spread.least, spread.greatest))
                    }
                    td {} td {}
                }
            }
        }
    }
}

fn conditions(results: &Results) -> Markup {
    let rates: Vec<String> = results.rails.iter().map(|rail| rail.mbit.to_string()).collect();
    html! {
        section {
            h2 { "Conditions" }
            dl {
                dt { "Date" } dd { (results.conditions.date) }
                @for (name, value) in &results.conditions.facts { dt { (name) } dd { (value) } }
                dt { "MPI libraries" } dd { (versions(results).join("; ")) }
            }
            h2 { "Commands" }
            p { "Each line behind " code { "fishplate testbed --rails " (rates.join(",")) " -- env" } ":" }
            pre { code { @for stack in &results.stacks { (stack.command) "\n" } } }
            p .note { "The whole measurement again: " code { "make demo" } }
        }
    }
}

fn versions(results: &Results) -> Vec<&str> {
    let mut versions: Vec<&str> = results.stacks.iter().map(|stack| stack.version.as_str()).collect();
    versions.retain(|version| !version.is_empty());
    versions.sort_unstable();
    versions.dedup();
    versions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{Conditions, RailAlone, SCHEMA, Share};

    fn results() -> Results {
        let stack = |name: &str, mbps: f64| StackResults {
            name: name.into(),
            rails: "both <rails>".into(),
            rates_given: false,
            version: "1 & 2".into(),
            command: "mpiexec".into(),
            latency: vec![9.0],
            bandwidth: [(64 << 10, vec![mbps]), (LARGE, vec![mbps])].into(),
            run_time: vec![1.5],
            failure: None,
        };
        Results {
            schema: SCHEMA.into(),
            conditions: Conditions { date: "today".into(), facts: vec![("TCP".into(), "bbr".into())], rounds: 1 },
            rails: vec![RailAlone { name: "r0".into(), mbit: 1000, alone: vec![120.0] }],
            sum: vec![150.0],
            stacks: vec![stack("UCX", 60.0), stack("Open MPI", 60.0), stack("Fishplate", 147.0)],
            shares: vec![Share { rail: "r0".into(), bytes: 1, share: 1.0, retransmitted: 0 }],
        }
    }

    #[test]
    fn the_page_stands_alone_and_shows_the_result() {
        let page = render(&results());
        for outside in ["http://", "https://", "<script src", "<link", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("98.0 %") && page.contains("2.45 times") && page.contains("color-scheme: light dark"));
        assert!(page.contains("both &lt;rails&gt;") && page.contains("1 &amp; 2"));
    }

    #[test]
    fn a_failure_is_shown_and_empty_results_do_no_harm() {
        let mut results = results();
        results.stacks[2].failure = Some("it <broke>".into());
        results.stacks[2].bandwidth.clear();
        assert!(render(&results).contains("it &lt;broke&gt;"));
        results.stacks.clear();
        results.sum.clear();
        results.rails.clear();
        results.shares.clear();
        assert!(render(&results).contains("</html>"));
    }
}
