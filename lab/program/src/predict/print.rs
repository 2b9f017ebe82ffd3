//! Predictions as a table for the terminal, and as JSON.

use serde_json::{Value, json};

use super::prediction::{Change, Prediction};
use super::worth::{self, Worth};
use crate::output::text;

/// Titles of [`times`].
pub const TIMES: [&str; 5] = ["run time", "computes", "in MPI", "of run", "against the first"];

/// The tables; `base`: the network that others are compared with.
pub fn table(predictions: &[Prediction], base: &Prediction) -> String {
    let mut table = text::table(&[&["network"], &TIMES[..]].concat(), 1);
    for prediction in predictions {
        table.add_row(std::iter::once(prediction.network.clone()).chain(times(prediction, base)));
    }
    let table = format!("{table}\n\nLimits, in percent of the run time\n\n{}", limits(predictions));
    let table = match Worth::of(predictions) {
        Some(worth) => format!("{table}\n\n{}\n\n{}", worth::explanation(&worth), worth_table(&worth)),
        None => table,
    };
    let changes: Vec<Change> = predictions[0].changed_s.iter().map(|(change, _)| *change).collect();
    if changes.is_empty() {
        return table;
    }
    format!("{table}\n\nRun time with\n\n{}", sensitivities(predictions, &changes))
}

/// Categories of the critical path.
fn limits(predictions: &[Prediction]) -> String {
    let names = predictions[0].limits.named().map(|(name, _)| name);
    let titles: Vec<&str> = [&["network"], &names[..], &["messages"]].concat();
    let mut table = text::table(&titles, 1);
    for prediction in predictions {
        table.add_row(std::iter::once(prediction.network.clone()).chain(parts(prediction)));
    }
    table.to_string()
}

/// Share of the gain of each network.
fn worth_table(worth: &Worth) -> String {
    let mut table = text::table(&[&["network"], &worth::TITLES[..]].concat(), 1);
    for (network, [by_communication, by_run]) in worth.rated() {
        table.add_row([network, by_communication, by_run]);
    }
    table.to_string()
}

/// Gain of each change.
fn sensitivities(predictions: &[Prediction], changes: &[Change]) -> String {
    let titles: Vec<&str> = std::iter::once("network").chain(changes.iter().map(|change| change.name())).collect();
    let mut table = text::table(&titles, 1);
    for prediction in predictions {
        let gains = prediction.changed_s.iter().map(|(_, changed)| prediction.gain(*changed));
        table.add_row(std::iter::once(prediction.network.clone()).chain(gains));
    }
    table.to_string()
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

/// How long it takes on a network.
pub fn times(prediction: &Prediction, base: &Prediction) -> Vec<String> {
    let seconds = |s: f64| text::time(s * 1e9);
    vec![
        seconds(prediction.run_s),
        seconds(prediction.computed_s),
        seconds(prediction.communication_s),
        text::percent(prediction.communication_s, prediction.run_s),
        format!("{:.3}", prediction.run_s / base.run_s),
    ]
}

/// The parts of the critical path, and how many messages are on it.
pub fn parts(prediction: &Prediction) -> Vec<String> {
    let parts = prediction.limits.named().map(|(_, part_s)| text::percent(part_s, prediction.run_s));
    parts.into_iter().chain([text::thousands(prediction.path_messages)]).collect()
}
