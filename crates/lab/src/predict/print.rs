//! Predictions as a table for the terminal, and as JSON.

use serde_json::{Value, json};

use super::evaluate::{Change, Prediction};
use crate::output::text;

/// The tables; `base`: the network that others are compared with.
pub fn table(predictions: &[Prediction], base: &Prediction) -> String {
    let mut table = text::table(&["network", "run time", "computes", "in MPI", "of run", "against the first"], 1);
    for prediction in predictions {
        table.add_row([
            prediction.network.clone(),
            seconds(prediction.run_s),
            seconds(prediction.computed_s),
            seconds(prediction.communication_s),
            text::percent(prediction.communication_s, prediction.run_s),
            format!("{:.3}", prediction.run_s / base.run_s),
        ]);
    }
    let changes: Vec<Change> = predictions[0].changed_s.iter().map(|(change, _)| *change).collect();
    if changes.is_empty() {
        return table.to_string();
    }
    format!("{table}\n\nRun time with\n\n{}", sensitivities(predictions, &changes))
}

/// What each change would bring.
fn sensitivities(predictions: &[Prediction], changes: &[Change]) -> String {
    let titles: Vec<&str> = std::iter::once("network").chain(changes.iter().map(|change| change.name())).collect();
    let mut table = text::table(&titles, 1);
    for prediction in predictions {
        let gains = prediction.changed_s.iter().map(|(_, changed)| gain(*changed, prediction.run_s));
        table.add_row(std::iter::once(prediction.network.clone()).chain(gains));
    }
    table.to_string()
}

/// The same for programs.
pub fn json(predictions: &[Prediction]) -> Value {
    let one = |prediction: &Prediction| {
        let changed = prediction.changed_s.iter().map(|(change, run_s)| (change.name().to_string(), json!(run_s)));
        json!({
            "network": prediction.network,
            "stack": prediction.stack,
            "run_s": prediction.run_s,
            "computed_s": prediction.computed_s,
            "communication_s": prediction.communication_s,
            "changed_run_s": changed.collect::<serde_json::Map<_, _>>(),
            "calls": prediction.calls,
            "events": prediction.events,
        })
    };
    predictions.iter().map(one).collect()
}

/// What a change gains, as a part of the run time.
fn gain(changed_s: f64, run_s: f64) -> String {
    format!("{:+.1} %", (changed_s / run_s - 1.0) * 100.0)
}

fn seconds(s: f64) -> String {
    text::time(s * 1e9)
}
