//! The table for a terminal, with sentences below.

use super::sentences::{self, percent};
use crate::output::page::units::digits;
use crate::output::text;
use crate::rpi::evaluate::{Evaluation, Rated};

/// Titles of the table.
pub const TITLES: [&str; 9] =
    ["network", "run, s", "in MPI", "most", "late", "computing", "and late", "RPI", "by run time"];

pub fn render(evaluation: &Evaluation) -> String {
    let mut table = text::table(&TITLES, 1);
    for rated in &evaluation.networks {
        table.add_row(row(evaluation, rated));
    }
    let mut parts = vec![format!("{}\n\n{table}\n", sentences::headline(evaluation))];
    for rated in &evaluation.networks {
        let network = &rated.network;
        parts.push(format!("{}: {}, {}", network.name, network.what, network.stack));
    }
    parts.push(String::new());
    parts.extend(sentences::ratings(evaluation));
    parts.extend(sentences::bounds(evaluation));
    parts.extend(sentences::published(evaluation));
    parts.extend(evaluation.notes.iter().map(|note| format!("! {note}")));
    parts.join("\n")
}

/// Cells of a network.
pub fn row(evaluation: &Evaluation, rated: &Rated) -> [String; TITLES.len()] {
    let name = &rated.network.name;
    let (by_communication, by_run) = match name {
        name if *name == evaluation.asked.base => ("base".into(), "base".into()),
        name if *name == evaluation.asked.best => ("best".into(), "best".into()),
        _ => (percent(&rated.by_communication), percent(&rated.by_run)),
    };
    let Some(mean) = rated.mean else {
        let none = || "-".to_string();
        return [name.clone(), none(), none(), none(), none(), none(), none(), by_communication, by_run];
    };
    [
        name.clone(),
        digits(mean.run),
        digits(mean.communication),
        digits(mean.communication_greatest),
        digits(mean.late),
        digits(mean.computing_greatest),
        digits(mean.computing_and_late_greatest),
        by_communication,
        by_run,
    ]
}
