//! Under which conditions a record was measured, in a sentence.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Record;
use crate::output::text;
use crate::system::programs::shell_quote;

/// Under which name the manifest's options have the arguments of the program that measured.
pub const COMMAND: &str = "command";

impl Record {
    /// When, where, how often and by which command was measured.
    pub fn conditions(&self) -> String {
        let machine = &self.manifest.machine;
        let date = self.manifest.started.split('T').next().unwrap_or_default();
        let kernel = machine.kernel.split('-').next().unwrap_or_default();
        let rounds: BTreeSet<u32> = self.samples.iter().map(|sample| sample.round).collect();
        let rounds = text::plural(rounds.len() as u64, "round");
        let measured =
            format!("Measured on {date} on {} processors ({}, {kernel}), {rounds}", machine.cores, machine.cpu);
        self.command_line().map_or(measured.clone(), |line| format!("{measured}, by `{line}`"))
    }

    /// The command that measured, for a shell.
    pub fn command_line(&self) -> Option<String> {
        let words: Vec<String> = self.command().iter().map(|word| shell_quote(word)).collect();
        (!words.is_empty()).then(|| format!("fishplate {}", words.join(" ")))
    }

    /// Arguments of the program that measured; none where the record does not tell.
    pub fn command(&self) -> Vec<String> {
        let words = self.manifest.options.get(COMMAND).and_then(Value::as_array);
        words.into_iter().flatten().filter_map(|word| word.as_str().map(String::from)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_for_a_shell() {
        let words = serde_json::json!({COMMAND: ["bench", "patterns", "--links", "two rails"]});
        let told = Record::synthetic(words).conditions();
        assert!(told.ends_with("0 rounds, by `fishplate bench patterns --links 'two rails'`"), "{told}");
        assert!(Record::synthetic(serde_json::json!({})).conditions().ends_with(", 0 rounds"));
    }
}
