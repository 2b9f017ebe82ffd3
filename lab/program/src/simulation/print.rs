//! Paper against simulation, as text.

use fishplate_sim::reproduce::{Judged, JudgedCheck, Kind, Tallies, Tally, number, tally};

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
                (_, true) if check.check.given => "by construction",
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
        if let Some(why) = &row.fact.why_not {
            text.push_str(&format!("{}: {why}\n", row.fact.id));
        }
    }
    text + &summary(rows)
}

/// How many rows hold. Calibrated rows are listed apart: they are no success. So is what holds by construction.
fn summary(rows: &[Judged]) -> String {
    let mut text = String::new();
    for (kind, name) in KINDS {
        let [predicted, given] = [false, true].map(|given| tally(rows, kind, given));
        if predicted.rows.all + given.rows.all == 0 {
            continue;
        }
        text.push_str(&format!("{name}: {}", counted(&predicted)));
        if given.rows.all + given.numbers.all > 0 {
            text.push_str(&format!("; by construction: {}", counted(&given)));
        }
        text.push('\n');
    }
    text
}

const KINDS: [(Kind, &str); 3] =
    [(Kind::P, "predictions"), (Kind::O, "orderings"), (Kind::C, "calibration, which is no success")];

fn counted(tallies: &Tallies) -> String {
    let Tallies { rows, numbers } = tallies;
    let of = |tally: &Tally| format!("{} of {}", tally.holding, tally.all);
    match numbers.all {
        0 => format!("{} rows hold", of(rows)),
        _ => format!("{} rows hold, {} numbers are within their tolerance", of(rows), of(numbers)),
    }
}

/// The summary in docs/papers/reproduce.md: the number of rows that hold, and those that do not.
pub fn markdown(rows: &[Judged]) -> String {
    let mut text = "| | rows that hold | numbers within their tolerance | by construction: rows | numbers |\n|---|---|---|---|---|\n"
        .to_string();
    for (kind, _) in KINDS {
        let [predicted, given] = [false, true].map(|given| tally(rows, kind, given));
        let of = |tally: Tally| if tally.all == 0 { "-".into() } else { format!("{} of {}", tally.holding, tally.all) };
        let cells = [predicted.rows, predicted.numbers, given.rows, given.numbers].map(of).join(" | ");
        text.push_str(&format!("| {kind:?} | {cells} |\n"));
    }
    text.push_str("\n| row that does not hold | paper | simulated | why |\n|---|---|---|---|\n");
    for row in rows.iter().filter(|row| !row.holds()) {
        let (id, kind, paper) = (&row.fact.id, row.fact.kind, &row.fact.text);
        let missed: Vec<String> = row.checks.iter().filter(|check| !check.holds).map(missed).collect();
        let why = row.fact.why_not.as_deref().unwrap_or("-");
        text.push_str(&format!("| {id}, {kind:?} | {paper} | {} | {why} |\n", missed.join("; ")));
    }
    text
}

/// A value that is not what it should be: `gain at 8 KiB: 1.98 (paper: 1.44)`.
fn missed(check: &JudgedCheck) -> String {
    let simulated = check.simulated.map_or("-".into(), number);
    format!("{}: {simulated} (paper: {})", check.check.what, check.paper())
}
