//! A line of a benchmark program as a sample of a record.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::matrix::Cell;
use crate::record::Sample;

/// Options that tell no values apart, or that differ between the stacks: how plain sockets find their peer and what
/// they are, and what is random.
const LEFT_OUT: [&str; 6] = ["address", "port", "mptcp", "seed", "socket_buffer", "mss"];

/// A line of a benchmark program (docs/benchmarks.md, "JSON").
#[derive(Clone, Debug, Deserialize)]
pub struct BenchLine {
    kind: String,
    /// What its library says of itself.
    pub mpi_library: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, Value>,
    size: u64,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    metric: String,
    unit: String,
    value: f64,
    iterations: Option<u64>,
    #[serde(default)]
    checked: bool,
    window: Option<u64>,
    percentiles: Option<BTreeMap<String, f64>>,
}

impl BenchLine {
    /// A line of output, if it is a result.
    pub fn parse(line: &str) -> Option<BenchLine> {
        let parsed: BenchLine = serde_json::from_str(line).ok()?;
        // `stress` has one line, of its own kind.
        ["result", "stress"].contains(&parsed.kind.as_str()).then_some(parsed)
    }

    /// As a record has it. `sized`: the size is of messages.
    pub fn sample(self, cell: &Cell, ranks: u32, sized: bool) -> Sample {
        let mut options = self.options;
        options.retain(|name, value| !LEFT_OUT.contains(&name.as_str()) && !value.is_null());
        if options.get("streams") == Some(&Value::from(1)) {
            options.remove("streams");
        }
        options.extend(self.parameters);
        if let Some(window) = self.window {
            options.insert("window".into(), window.into());
        }
        Sample {
            stack: cell.stack.clone(),
            link: cell.link.clone(),
            benchmark: cell.benchmark.clone(),
            round: cell.round,
            ranks,
            size_bytes: sized.then_some(self.size),
            metric: self.metric,
            unit: self.unit,
            better: None,
            value: self.value,
            percentiles: self.percentiles,
            iterations: self.iterations,
            checked: self.checked,
            options,
        }
    }
}

/// A sample in a few characters.
pub fn shown(sample: &Sample) -> String {
    let size = sample.size_bytes.map(crate::page::units::size);
    let at = size.map_or(String::new(), |size| format!(" at {size}"));
    format!("{} {}{at}", crate::show::digits(sample.value), sample.unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"kind":"result","mpi_library":"X","ranks":2,"options":{"iterations":null,"seconds":0.1,
        "window":64,"seed":1,"mptcp":true,"streams":1},"size":64,"parameters":{"peer":1},"metric":"bandwidth",
        "unit":"MB/s","value":17.5,"iterations":4,"checked":true,"window":32,"percentiles":{"p99":20.0}}"#;

    fn cell() -> Cell {
        Cell { stack: "tcp".into(), link: "lan".into(), benchmark: "bandwidth".into(), round: 1 }
    }

    #[test]
    fn options_are_those_that_tell_values_apart_and_the_window_is_the_one_used() {
        let sample = BenchLine::parse(&LINE.replace('\n', "")).unwrap().sample(&cell(), 2, true);
        let options = serde_json::to_string(&sample.options).unwrap();
        assert_eq!(options, r#"{"peer":1,"seconds":0.1,"window":32}"#);
        assert_eq!((sample.size_bytes, sample.value, sample.checked, sample.round), (Some(64), 17.5, true, 1));
        assert_eq!(shown(&sample), "17.5 MB/s at 64 B");
    }

    #[test]
    fn lines_that_are_no_results_are_left_out() {
        let line = LINE.replace('\n', "");
        assert!(BenchLine::parse(&line.replace("\"result\"", "\"tier\"")).is_none());
        assert!(BenchLine::parse("# latency").is_none());
        assert!(BenchLine::parse(&line[..20]).is_none());
    }
}
