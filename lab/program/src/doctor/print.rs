//! Prints findings, for people and for programs.

use std::fmt::Write;

use anyhow::Result;

use super::examination::Report;
use super::finding::Severity;
use crate::output::text;

/// A table, and a line below it.
pub fn table(report: &Report) -> String {
    let mut table = text::table(&["", "host", "check", "finding", "remedy"], usize::MAX);
    for finding in &report.findings {
        let word = match finding.severity {
            Severity::Prevents => "prevents",
            Severity::Warning => "warning",
            Severity::Fine => "fine",
        };
        table.add_row([
            word.to_string(),
            finding.hosts.join("\n"),
            finding.check.to_string(),
            finding.found.clone(),
            finding.to_do.clone().unwrap_or_default(),
        ]);
    }
    let mut shown = table.to_string();
    let count = |severity| report.findings.iter().filter(|finding| finding.severity == severity).count() as u64;
    let hosts = text::plural(report.hosts.len() as u64, "host");
    let (prevents, warnings) = (count(Severity::Prevents), count(Severity::Warning));
    // Writing to a string does not fail.
    let _ = match (prevents, warnings) {
        (0, 0) => write!(shown, "\n{hosts}: no problems"),
        (0, _) => write!(shown, "\n{hosts}: programs run, with {}", text::plural(warnings, "warning")),
        _ => {
            let those = if prevents == 1 { "problem prevents" } else { "problems prevent" };
            let beside = if warnings == 0 { String::new() } else { format!(", {}", text::plural(warnings, "warning")) };
            write!(shown, "\n{hosts}: {prevents} {those} programs from running{beside}")
        }
    };
    shown
}

/// Prints the findings as JSON.
pub fn json(report: &Report) -> Result<String> {
    Ok(serde_json::to_string_pretty(report)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Finding;

    #[test]
    fn the_last_line_says_how_bad_it_is() {
        let report = |findings| Report { hosts: vec!["a".into(), "b".into()], findings };
        let last = |findings| table(&report(findings)).lines().last().unwrap().to_string();
        let fine = Finding::fine("rails", "a", "r0".into());
        let warning = Finding::warning("rails", "a", "down".into(), "up".into());
        let prevents = Finding::prevents("paths", "a", "no".into(), "yes".into());
        assert_eq!(last(vec![fine.clone()]), "2 hosts: no problems");
        assert_eq!(last(vec![warning.clone(), fine]), "2 hosts: programs run, with 1 warning");
        assert!(last(vec![prevents.clone()]).ends_with("from running"));
        let both = vec![prevents, warning];
        assert_eq!(last(both.clone()), "2 hosts: 1 problem prevents programs from running, 1 warning");
        let json = json(&report(both)).unwrap();
        assert!(json.contains("\"severity\": \"prevents\"") && json.contains("\"to_do\": \"yes\""), "{json}");
    }
}
