//! Findings of checks, with remedies.

use serde::Serialize;

/// How bad it is; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Programs will not run, or not with Fishplate.
    Prevents,
    /// Programs run, but slower than they could, or not always.
    Warning,
    /// All is well.
    Fine,
}

/// Something that a check has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    pub check: &'static str,
    /// Hosts that it was found on.
    pub hosts: Vec<String>,
    /// Description of the finding.
    pub found: String,
    /// The remedy, if any.
    pub to_do: Option<String>,
}

impl Finding {
    /// It is not as it should be.
    pub fn wrong(severity: Severity, check: &'static str, host: &str, found: String, to_do: String) -> Finding {
        Finding { severity, check, hosts: vec![host.to_string()], found, to_do: Some(to_do) }
    }

    /// It keeps programs from running.
    pub fn prevents(check: &'static str, host: &str, found: String, to_do: String) -> Finding {
        Finding::wrong(Severity::Prevents, check, host, found, to_do)
    }

    /// It costs something.
    pub fn warning(check: &'static str, host: &str, found: String, to_do: String) -> Finding {
        Finding::wrong(Severity::Warning, check, host, found, to_do)
    }

    /// It is as it should be.
    pub fn fine(check: &'static str, host: &str, found: String) -> Finding {
        Finding { severity: Severity::Fine, check, hosts: vec![host.to_string()], found, to_do: None }
    }
}

/// The worst first, and what several hosts have in common once; otherwise in the order in which they come.
pub fn in_order(findings: Vec<Finding>) -> Vec<Finding> {
    let mut ordered: Vec<Finding> = Vec::new();
    for finding in findings {
        let is_same = |other: &&mut Finding| {
            (other.severity, other.check, &other.found, &other.to_do)
                == (finding.severity, finding.check, &finding.found, &finding.to_do)
        };
        match ordered.iter_mut().find(is_same) {
            Some(same) => same.hosts.extend(finding.hosts),
            None => ordered.push(finding),
        }
    }
    ordered.sort_by_key(|finding| finding.severity);
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_comes_first_and_equal_findings_of_all_hosts_come_once() {
        let yama = |host| Finding::warning("memory", host, "Yama".into(), "sysctl".into());
        let down = Finding::prevents("rails", "b", "down".into(), "up".into());
        let fine = Finding::fine("mpi", "a", "MPICH".into());
        let ordered = in_order(vec![fine, yama("a"), down, yama("b")]);
        let shown: Vec<String> = ordered.iter().map(|f| format!("{} {}", f.hosts.join("+"), f.found)).collect();
        assert_eq!(shown, ["b down", "a+b Yama", "a MPICH"]);
    }
}
