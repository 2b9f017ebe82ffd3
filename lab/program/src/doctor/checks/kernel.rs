//! Settings of the kernel that cost speed.

use fishplate_rails::settings::congestion_controls;
use serde::{Deserialize, Serialize};

use super::last_number;
use crate::doctor::finding::Finding;

const CHECK: &str = "kernel";

/// Settings of a host's kernel, as far as readable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The last of `tcp_wmem`, in bytes.
    pub most_send_buffer: Option<u64>,
    /// The last of `tcp_rmem`, in bytes.
    pub most_receive_buffer: Option<u64>,
    /// Congestion controls that this user may choose.
    pub congestion_controls: Vec<String>,
    /// `tcp_window_scaling`.
    pub window_scaling: Option<u8>,
    /// `tcp_sack`.
    pub selective_acknowledgements: Option<u8>,
}

pub fn gather() -> Facts {
    Facts {
        most_send_buffer: last_number("net/ipv4/tcp_wmem"),
        most_receive_buffer: last_number("net/ipv4/tcp_rmem"),
        congestion_controls: congestion_controls(),
        window_scaling: last_number("net/ipv4/tcp_window_scaling"),
        selective_acknowledgements: last_number("net/ipv4/tcp_sack"),
    }
}

/// Findings about these settings.
pub fn judge(host: &str, facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, value, what) in [
        ("tcp_window_scaling", facts.window_scaling, "connections have at most 64 KiB in flight"),
        ("tcp_sack", facts.selective_acknowledgements, "after a loss, segments that have arrived are sent again"),
    ] {
        if value == Some(0) {
            let found = format!("net.ipv4.{name} is 0: {what}");
            findings.push(Finding::warning(CHECK, host, found, format!("sysctl -w net.ipv4.{name}=1")));
        }
    }
    if findings.is_empty() {
        let controls = facts.congestion_controls.join(", ");
        findings.push(Finding::fine(CHECK, host, format!("congestion control {controls}")));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;

    #[test]
    fn features_that_are_off_are_reported() {
        let facts = Facts { window_scaling: Some(0), selective_acknowledgements: Some(0), ..Facts::default() };
        let findings = judge("a", &facts);
        assert_eq!(findings.len(), 2);
        assert!(findings.iter().all(|finding| finding.severity == Severity::Warning));
        assert_eq!(findings[1].to_do.as_deref(), Some("sysctl -w net.ipv4.tcp_sack=1"));
        assert_eq!(judge("a", &Facts::default())[0].severity, Severity::Fine, "an unknown value is no problem");
    }

    #[test]
    fn this_kernel_is_read() {
        assert!(gather().congestion_controls.contains(&"reno".to_string()));
    }
}
