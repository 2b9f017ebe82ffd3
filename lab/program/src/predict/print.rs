//! Predictions as tables, and as JSON.

use serde_json::{Value, json};

use super::prediction::Prediction;
use super::worth;
use crate::output::table::Table;
use crate::output::text;

/// All tables, with what they are about.
pub fn all(predictions: &[Prediction]) -> String {
    let mut parts = vec![times(predictions).text(), "Limits, in percent of the run time".into()];
    parts.push(limits(predictions).text());
    if let Some(table) = worth(predictions) {
        parts.extend([worth::explanation(predictions), table.text()]);
    }
    if let Some(table) = changes(predictions) {
        parts.extend(["Run time with".into(), table.text()]);
    }
    parts.join("\n\n")
}

/// A row for each network.
fn table(predictions: &[Prediction], titles: &[&str], cells: impl Fn(&Prediction) -> Vec<String>) -> Table {
    let row = |one: &Prediction| std::iter::once(one.network.clone()).chain(cells(one)).collect();
    Table::new(&[&["network"], titles].concat(), 1, predictions.iter().map(row).collect())
}

/// How long it takes on each network.
pub fn times(predictions: &[Prediction]) -> Table {
    let seconds = |s: f64| text::time(s * 1e9);
    table(predictions, &["run time", "computes", "in MPI", "of run", "against the first"], |one| {
        vec![
            seconds(one.run_s),
            seconds(one.computed_s),
            seconds(one.communication_s),
            text::percent(one.communication_s, one.run_s),
            format!("{:.3}", one.run_s / predictions[0].run_s),
        ]
    })
}

/// The parts of the critical path, and how many messages are on it.
pub fn limits(predictions: &[Prediction]) -> Table {
    let names = predictions.first().map_or(Vec::new(), |first| first.limits.named().map(|(name, _)| name).to_vec());
    table(predictions, &[&names[..], &["messages"]].concat(), |one| {
        let parts = one.limits.named().map(|(_, part_s)| text::percent(part_s, one.run_s));
        parts.into_iter().chain([text::thousands(one.path_messages)]).collect()
    })
}

/// Share of the gain of each network, if there is one.
pub fn worth(predictions: &[Prediction]) -> Option<Table> {
    let rated = worth::of(predictions)?;
    let row = |(one, rated): (&Prediction, [String; 2])| std::iter::once(one.network.clone()).chain(rated).collect();
    let rows = predictions.iter().zip(rated).map(row).collect();
    Some(Table::new(&[&["network"], &worth::TITLES[..]].concat(), 1, rows))
}

/// Gain of each change, if some were asked for.
pub fn changes(predictions: &[Prediction]) -> Option<Table> {
    let changes = &predictions.first().filter(|first| !first.changed_s.is_empty())?.changed_s;
    let names: Vec<&str> = changes.iter().map(|(change, _)| change.name()).collect();
    Some(table(predictions, &names, |one| one.changed_s.iter().map(|(_, changed)| one.gain(*changed)).collect()))
}

/// The predictions as JSON.
pub fn json(predictions: &[Prediction]) -> Value {
    let one = |prediction: &Prediction| {
        let changed = prediction.changed_s.iter().map(|(change, run_s)| (change.name().to_string(), json!(run_s)));
        json!({
            "network": prediction.network,
            "stack": prediction.stack,
            "run_s": prediction.run_s,
            "computed_s": prediction.computed_s,
            "communication_s": prediction.communication_s,
            "critical_path": prediction.limits,
            "critical_path_messages": prediction.path_messages,
            "changed_run_s": changed.collect::<serde_json::Map<_, _>>(),
            "calls": prediction.calls,
            "events": prediction.events,
        })
    };
    predictions.iter().map(one).collect()
}
