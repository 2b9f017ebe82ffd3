//! Measured and simulated, as text.

use crate::output::page::units;
use crate::output::text;
use crate::validate::accuracy::{Deviations, MEDIAN_GOAL, NINTH_GOAL};
use crate::validate::point::{Point, Role, STEADY};
use crate::validate::{Validation, Verdict};

/// Titles of the columns.
pub const TITLES: [&str; 8] = ["benchmark", "link", "stack", "at", "measured", "rounds", "simulated", "deviation"];

/// The cells of a point, and what it is good for.
pub fn cells(point: &Point) -> ([String; 8], &'static str) {
    let sample = &point.sample;
    let at = match point.time_s {
        Some(time_s) => format!("{time_s} s"),
        None => units::size(point.size()),
    };
    let unit = &sample.unit;
    let cells = [
        sample.benchmark.clone(),
        sample.link.clone(),
        sample.stack.clone(),
        at,
        units::quantity(point.measured.median, unit),
        units::range(point.measured.least, point.measured.greatest, unit),
        units::quantity(point.simulated, unit),
        format!("{:+.1} %", 100.0 * point.deviation()),
    ];
    let role = match point.role {
        Role::Calibration => "calibration",
        Role::Predicted => "",
        Role::Unsteady => "unsteady",
    };
    (cells, role)
}

/// The whole table, and what comes of it.
pub fn text(validation: &Validation) -> String {
    let titles: Vec<&str> = TITLES.into_iter().chain([""]).collect();
    let mut table = text::table(&titles, 3);
    for point in &validation.points {
        let (cells, role) = cells(point);
        table.add_row(cells.into_iter().chain([role.to_string()]));
    }
    let mut text = format!("{table}\n\n");
    for set in &validation.calibrated {
        text.push_str(&format!("calibrated: {}: {:.0}\n", set.parameter.name(), set.value));
    }
    for line in summary(&validation.verdict) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Summary in sentences.
pub fn summary(verdict: &Verdict) -> Vec<String> {
    let describe = |found: &Deviations| {
        let (median, ninth) = (100.0 * found.median, 100.0 * found.ninth);
        format!("{} points; median deviation {median:.1} %, 90th percentile {ninth:.1} %", found.points)
    };
    let mut lines = Vec::new();
    lines.push(
        verdict
            .predicted
            .as_ref()
            .map_or("predicted: nothing".into(), |found| format!("predicted: {}", describe(found))),
    );
    if let (Some(all), Some(predicted)) = (&verdict.all, &verdict.predicted)
        && all.points > predicted.points
    {
        let (left_out, most) = (all.points - predicted.points, 100.0 * STEADY);
        lines.push(format!(
            "left out: {left_out} points whose rounds differ by more than {most:.0} %; with them: {}",
            describe(all)
        ));
    }
    lines.push(format!("{} points set the model, and are not judged", verdict.calibration));
    let goal = format!("median below {:.0} %, 90th percentile below {:.0} %", 100.0 * MEDIAN_GOAL, 100.0 * NINTH_GOAL);
    lines.push(format!("the goal ({goal}) is {}", if verdict.holds() { "met" } else { "not met" }));
    lines
}
