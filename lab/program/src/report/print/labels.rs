//! Formats the report's numbers and names, equally in all of its forms.

use crate::output::page::units;
use crate::output::table::Table;
use crate::record::{Link, Rail, Verdict};
use crate::report::model::{Panel, Place, Points, Rounds};
use crate::report::{Report, missing};
use crate::statistics::{Ratio, Spread};

/// Placeholder for a missing value.
pub const NONE: &str = "–";

/// `1.24`.
pub fn ratio(ratio: &Ratio) -> String {
    times(ratio.mean)
}

/// `1.20–1.28`.
pub fn interval(ratio: &Ratio) -> String {
    ratio.interval.map_or("one round".into(), |(low, high)| format!("{}–{}", times(low), times(high)))
}

fn times(value: f64) -> String {
    match value {
        v if v >= 999.5 => ">1000".into(),
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// The spread of a stack at a place.
pub fn spread(points: &Points, place: Place, stack: usize) -> Option<Spread> {
    let rounds: &Rounds = points.get(&place)?.get(&stack)?;
    Spread::of(&rounds.values().map(|value| value.value).collect::<Vec<_>>())
}

/// The median over the rounds of what 99 of 100 iterations stay below.
pub fn p99(points: &Points, place: Place, stack: usize) -> Option<f64> {
    let rounds: &Rounds = points.get(&place)?.get(&stack)?;
    Spread::of(&rounds.values().filter_map(|value| value.p99).collect::<Vec<_>>()).map(|spread| spread.median)
}

/// Distinguishes a panel from the benchmark's others: the link, and the conditions that differ between them.
pub fn panel(report: &Report, panel: &Panel) -> String {
    let link = panel.link.map(|link| report.model.links[link].clone());
    let varying = report.model.varying(panel.benchmark);
    let conditions = panel.conditions();
    let shown_options =
        conditions.iter().filter(|(name, _)| varying.contains(*name)).map(|(name, value)| condition(name, &value.0));
    let metrics = report.model.panels.keys().filter(|other| other.benchmark == panel.benchmark);
    let metric = metrics.into_iter().any(|other| other.metric != panel.metric).then(|| panel.metric.replace('_', " "));
    let all: Vec<String> = link.into_iter().chain(metric).chain(shown_options).collect();
    if all.is_empty() { "all links".into() } else { all.join(", ") }
}

/// `64 KiB`, `2 ranks`, `window 64`.
pub fn condition(name: &str, value: &str) -> String {
    match (name, value.parse()) {
        ("size_bytes", Ok(size)) => units::size(size),
        ("ranks", _) => format!("{value} ranks"),
        _ => format!("{} {value}", name.replace('_', " ")),
    }
}

/// Label of the point that a line of the summary compares.
pub fn place(report: &Report, panel: &Panel, place: Option<Place>) -> String {
    let axis = &report.model.benchmarks[panel.benchmark].axis;
    match place {
        None => axis.all(),
        Some(_) if *axis == crate::report::axis::Axis::Size && panel_has_no_size(report, panel) => NONE.into(),
        Some(place) => axis.name(place.0),
    }
}

fn panel_has_no_size(report: &Report, panel: &Panel) -> bool {
    report.model.panels[panel].keys().all(|place| place.0 == 0.0)
}

/// Requested properties of a rail.
pub fn asked(rail: &Rail) -> [String; 4] {
    let bursts = if rail.burst.is_default() { "" } else { ", bursts of a packet" };
    [
        rail.rate_mbit.map_or("unlimited".into(), |rate| units::round(rate, "Mbit/s")) + bursts,
        rail.delay_us.map_or(NONE.into(), |delay| units::round(delay, "us")),
        lost(rail),
        rail.queue_bytes.map_or(NONE.into(), units::size),
    ]
}

fn lost(rail: &Rail) -> String {
    let part = rail.loss.map(|loss| format!("{} %", units::digits(loss * 100.0)));
    let long = rail.path_mtu.map(|mtu| format!("all beyond {mtu} bytes"));
    let flips = rail.flip.map(|flip| format!("a bit changed in {} %", units::digits(flip * 100.0)));
    let words: Vec<String> = part.into_iter().chain(flips).chain(long).collect();
    if words.is_empty() { NONE.into() } else { words.join(", ") }
}

/// Measured properties of a rail: rate with its deviation from the request, round trip.
pub fn measured(rail: &Rail) -> [String; 2] {
    let rate = rail.measured_mbit.map_or(NONE.into(), |measured| {
        let text = units::quantity(measured, "Mbit/s");
        let off = rail.rate_mbit.map(|asked| format!(" ({:+.1} %)", (measured / asked - 1.0) * 100.0));
        text + &off.unwrap_or_default()
    });
    let trip = rail.round_trip_us.map_or(NONE.into(), |trip| {
        format!("{}, p99 {}", units::quantity(trip.mean, "us"), units::quantity(trip.p99, "us"))
    });
    [rate, trip]
}

/// The emulator's part of a processor.
pub fn emulator(link: &Link) -> String {
    link.emulator_cpu.map_or(NONE.into(), |share| format!("{:.1} %", share * 100.0))
}

/// A verdict, and its class in the style.
pub fn verdict(verdict: Verdict) -> (&'static str, &'static str) {
    let class = match verdict {
        Verdict::Holds => "holds",
        Verdict::ByConstruction => "by-construction",
        Verdict::DoesNotHold => "does-not-hold",
        Verdict::CannotBeTested => "cannot-be-tested",
    };
    (verdict.words(), class)
}

/// What was not measured, with reasons.
pub fn gaps(report: &Report) -> Table {
    let rows = missing::gaps(report).into_iter().map(|gap| vec![gap.stack, gap.link, gap.benchmark, gap.reason]);
    Table::new(&["stack", "link", "benchmark", "why"], usize::MAX, rows.collect())
}

/// Names and values of what a record was made under.
pub fn conditions(report: &Report, number: usize) -> Vec<(String, String)> {
    let record = &report.records[number];
    let manifest = &record.manifest;
    let machine = &manifest.machine;
    let loads = record.cells.iter().map(|cell| cell.load);
    let (least, greatest) = loads.fold((manifest.load, manifest.load), |(l, g), load| (l.min(load), g.max(load)));
    let mut facts = vec![
        ("Started", manifest.started.clone()),
        ("Host", machine.hostname.clone()),
        ("Processor", format!("{}, {} cores", machine.cpu, machine.cores)),
        ("Memory", format!("{} GiB", units::digits(machine.memory_bytes as f64 / f64::from(1 << 30)))),
        ("Kernel", machine.kernel.clone()),
        ("Load of the machine", format!("{} before, {} to {} meanwhile", manifest.load, least, greatest)),
        ("Fishplate", manifest.fishplate.clone()),
        ("Rounds", manifest.rounds.to_string()),
        ("Links", manifest.links.join(", ")),
        ("Benchmarks", manifest.benchmarks.iter().map(|b| b.name.clone()).collect::<Vec<_>>().join(", ")),
    ];
    facts.extend(record.command_line().map(|line| ("Command", line)));
    let named = |pairs: Vec<String>| pairs.join(", ");
    if !manifest.seeds.is_empty() {
        facts.push(("Seeds", named(manifest.seeds.iter().map(|(name, seed)| format!("{name} {seed}")).collect())));
    }
    // The plan is for `--resume`; the report shows what matters of it elsewhere.
    let not_shown = [crate::bench::PLAN, crate::record::COMMAND];
    let options: Vec<_> = manifest.options.iter().filter(|(name, _)| !not_shown.contains(&name.as_str())).collect();
    if !options.is_empty() {
        facts.push(("Options", named(options.into_iter().map(|(name, v)| format!("{name} {v}")).collect())));
    }
    if let Some(line) = record.torn {
        facts.push(("Torn", format!("line {line} was not complete and is left out")));
    }
    let mut facts: Vec<(String, String)> = facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    facts.extend(manifest.stacks.iter().map(|stack| (stack.name.clone(), stack.version.clone())));
    facts
}
