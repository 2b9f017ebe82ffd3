//! Checks whether all hosts have equal versions of Fishplate.

use serde::{Deserialize, Serialize};

use crate::doctor::finding::Finding;

const CHECK: &str = "versions";

/// Versions on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub program: String,
    /// Of the wire format.
    pub wire: u16,
}

/// Version of this program.
pub fn gather() -> Facts {
    Facts { program: env!("CARGO_PKG_VERSION").into(), wire: fishplate_rails::WIRE_VERSION }
}

/// Compares the others with the first.
pub fn judge(hosts: &[(&str, &Facts)]) -> Vec<Finding> {
    let Some(((first, ours), others)) = hosts.split_first() else { return Vec::new() };
    let mut findings = Vec::new();
    for (host, theirs) in others.iter().filter(|(_, theirs)| theirs != ours) {
        let found = format!("Fishplate {} on {host}, {} on {first}", theirs.program, ours.program);
        let to_do = format!("install one version on both hosts: that of {first} or that of {host}");
        findings.push(match theirs.wire == ours.wire {
            true => Finding::warning(CHECK, host, found, to_do),
            false => {
                let wires = format!("wire formats {} and {}: ranks refuse each other", theirs.wire, ours.wire);
                Finding::prevents(CHECK, host, format!("{found}, with {wires}"), to_do)
            }
        });
    }
    if findings.is_empty() {
        let all = hosts.iter().map(|(host, _)| Finding::fine(CHECK, host, format!("Fishplate {}", ours.program)));
        findings.extend(all);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;

    fn judged(wire: u16, program: &str) -> Vec<Finding> {
        let facts = |program: &str, wire| Facts { program: program.into(), wire };
        judge(&[("a", &facts("0.2.0", 7)), ("b", &facts("0.2.0", 7)), ("c", &facts(program, wire))])
    }

    #[test]
    fn the_wire_format_must_agree_and_the_program_should() {
        let other_wire = judged(8, "0.3.0");
        assert_eq!((other_wire.len(), other_wire[0].severity), (1, Severity::Prevents));
        let text = format!("{:?}", other_wire[0]);
        for part in ["Fishplate 0.3.0 on c, 0.2.0 on a", "wire formats 8 and 7", "install one version"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(judged(7, "0.2.1")[0].severity, Severity::Warning);
        assert!(judged(7, "0.2.0").iter().all(|finding| finding.severity == Severity::Fine));
    }
}
