//! Paper against simulation, as text.

use fishplate_sim::reproduce::{Judged, Kind, number, tally, why_not};

use crate::output::text;

/// The whole table, with what holds and why not.
pub fn text(rows: &[Judged]) -> String {
    let mut table = text::table(&["id", "kind", "value", "paper", "simulated", "deviation", ""], 4);
    for row in rows {
        for (position, check) in row.checks.iter().enumerate() {
            let first = |text: String| if position == 0 { text } else { String::new() };
            let verdict = match (row.fact.kind, check.holds) {
                (Kind::C, true) => "calibrated",
                (Kind::C, false) => "not met",
                (_, true) => "holds",
                (_, false) => "does not hold",
            };
            table.add_row([
                first(row.fact.id.clone()),
                first(format!("{:?}", row.fact.kind)),
                check.check.what.clone(),
                check.paper(),
                check.simulated.map_or("-".into(), number),
                check.deviation().map_or(String::new(), |part| format!("{:+.1} %", 100.0 * part)),
                verdict.into(),
            ]);
        }
    }
    let mut text = format!("{table}\n\n");
    for row in rows.iter().filter(|row| !row.holds()) {
        if let Some(why) = why_not(&row.fact.id) {
            text.push_str(&format!("{}: {why}\n", row.fact.id));
        }
    }
    text + &summary(rows)
}

/// How many rows hold. Calibrated rows are listed apart: they are no success.
fn summary(rows: &[Judged]) -> String {
    let mut text = String::new();
    for (kind, name) in
        [(Kind::P, "predictions"), (Kind::O, "orderings"), (Kind::C, "calibration, which is no success")]
    {
        let ((holding, all), (near, numbers)) = tally(rows, kind);
        if all == 0 {
            continue;
        }
        text.push_str(&format!("{name}: {holding} of {all} rows hold"));
        if numbers > 0 {
            text.push_str(&format!("; {near} of {numbers} numbers within their tolerance"));
        }
        text.push('\n');
    }
    text
}
