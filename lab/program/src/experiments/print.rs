//! Verdicts as Markdown, for docs/papers/experiments.md.

use super::Experiment;
use crate::output::table::Table;
use crate::record::{Record, Statement, Verdict};

/// Prints the verdicts on the statements of a record's experiment, by the rules of this program.
pub fn markdown(experiment: &Experiment, record: &Record) -> String {
    let statements = experiment.statements(record);
    let count = |verdict| statements.iter().filter(|statement| statement.verdict == verdict).count();
    let [holds, given, missed] = [Verdict::Holds, Verdict::ByConstruction, Verdict::DoesNotHold].map(count);
    let (untested, judged): (Vec<&Statement>, Vec<&Statement>) =
        statements.iter().partition(|statement| statement.verdict == Verdict::CannotBeTested);
    let table =
        Table::new(&["", "published", "found", "verdict", "rule"], usize::MAX, judged.into_iter().map(row).collect());
    let mut text = format!(
        "{}; {holds} of {} statements hold, and {given} by construction.\n\n{table}",
        record.conditions(),
        holds + missed
    );
    if !untested.is_empty() {
        let reasons: Vec<String> = untested.iter().map(|one| format!("{} ({})", one.id, one.why)).collect();
        text += &format!("\nCannot be tested: {}.\n", reasons.join("; "));
    }
    text
}

fn row(statement: &Statement) -> Vec<String> {
    let Statement { id, text, verdict, why, values } = statement;
    let found: Vec<String> = values.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    vec![id.clone(), text.clone(), found.join("; "), verdict.words().to_string(), why.clone()]
}
