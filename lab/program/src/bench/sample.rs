//! A line of a benchmark program as a sample of a record.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::failover::Interval;
use crate::record::{Cell, Sample};

/// Options that tell no values apart, or that differ between the stacks: how plain sockets find their peer and what
/// they are, what is random, and where files are; which operation was measured is in the name of the value.
const LEFT_OUT: [&str; 9] =
    ["address", "port", "mptcp", "seed", "shuffle", "socket_buffer", "mss", "path", "operation"];

/// What options are unless asked for otherwise. Older lines do not tell them, and are of the same.
fn usual() -> [(&'static str, Value); 3] {
    [("streams", 1.into()), ("start", "barrier".into()), ("connections", 1.into())]
}

/// What the time in MPI is called.
const COMMUNICATION: &str = "communication_time";
/// What is read from files in the run time, and its unit: 10^6 bytes a second.
const READ: (&str, &str) = ("read_bandwidth", "MB/s");

/// Kind of the lines, and option, of a run over time.
const INTERVAL: &str = "interval";
/// The end of an interval, in seconds since the begin.
pub const TIME: &str = "time";

/// A line of a benchmark program (docs/reference/benchmarks.md, "JSON").
#[derive(Clone, Debug, Deserialize)]
pub struct BenchLine {
    kind: String,
    /// What its library says of itself.
    pub mpi_library: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, Value>,
    pub size: u64,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    metric: String,
    unit: String,
    pub value: f64,
    iterations: Option<u64>,
    /// How long was measured.
    seconds: Option<f64>,
    #[serde(default)]
    checked: bool,
    window: Option<u64>,
    percentiles: Option<BTreeMap<String, f64>>,
    /// Of applications: in MPI, over the ranks.
    communication_seconds: Option<Communication>,
    /// Of applications: what all ranks have read from files, in bytes.
    file_bytes: Option<u64>,
}

/// Time in MPI.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Communication {
    mean: f64,
}

impl BenchLine {
    /// A line of output, if it is a result.
    pub fn parse(line: &str) -> Option<BenchLine> {
        let parsed: BenchLine = serde_json::from_str(line).ok()?;
        // `stress` has one line, of its own kind; runs over time have one for each interval.
        ["result", "stress", INTERVAL].contains(&parsed.kind.as_str()).then_some(parsed)
    }

    /// What an application also tells, as values of their own: the time in MPI, mean over the ranks, and what it reads from
    /// files, if it does.
    pub fn also(&self) -> Vec<BenchLine> {
        let value = |metric: &str, unit: &str, value| BenchLine {
            metric: metric.into(),
            unit: unit.into(),
            value,
            ..self.clone()
        };
        let communication = self.communication_seconds.map(|seconds| value(COMMUNICATION, "s", seconds.mean));
        let bytes = self.file_bytes.filter(|bytes| *bytes > 0);
        let read = bytes.map(|bytes| value(READ.0, READ.1, bytes as f64 / self.value / 1e6));
        communication.into_iter().chain(read).collect()
    }

    /// The median of the iterations, where it is known.
    pub fn median(&self) -> f64 {
        self.percentiles.as_ref().and_then(|percentiles| percentiles.get("p50")).copied().unwrap_or(self.value)
    }

    /// What arrived in an interval, by the clock of the receiver, which begins with its start.
    pub fn interval(&self) -> Option<Interval> {
        let end = self.parameters.get(TIME).and_then(Value::as_f64).filter(|_| self.kind == INTERVAL)?;
        Some(Interval { end, length: self.seconds?, mb_s: self.value })
    }

    /// As a record has it. `sized`: the size is of messages.
    pub fn sample(self, cell: &Cell, ranks: u32, sized: bool) -> Sample {
        let mut options = self.options;
        options.retain(|name, value| !LEFT_OUT.contains(&name.as_str()) && !value.is_null());
        for (name, value) in usual() {
            if options.get(name) == Some(&value) {
                options.remove(name);
            }
        }
        let interval = options.get(INTERVAL).and_then(Value::as_f64);
        let time = self.parameters.get(TIME).and_then(Value::as_f64);
        options.extend(self.parameters);
        if let (INTERVAL, Some(interval), Some(time)) = (self.kind.as_str(), interval, time) {
            // Each ends when a message happens to arrive; side by side they are at the time that was asked.
            options.insert(TIME.into(), rounded((time / interval).round() * interval).into());
        }
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

/// Without what binary fractions leave.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

/// A sample in a few characters.
pub fn shown(sample: &Sample) -> String {
    let size = sample.size_bytes.map(crate::output::page::units::size);
    let at = size.map_or(String::new(), |size| format!(" at {size}"));
    format!("{} {}{at}", crate::output::text::digits(sample.value), sample.unit)
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
    fn turns_of_a_size_are_samples_of_their_own_in_whatever_order_they_were_measured() {
        let line = LINE.replace('\n', "").replace("\"seed\":1", "\"shuffle\":7");
        let turn = |number: &str| {
            let line = line.replace("\"peer\":1", &format!("\"turn\":{number}"));
            serde_json::to_string(&BenchLine::parse(&line).unwrap().sample(&cell(), 2, true).options).unwrap()
        };
        assert_eq!(turn("2"), r#"{"seconds":0.1,"turn":2,"window":32}"#);
        assert_ne!(turn("1"), turn("2"));
    }

    #[test]
    fn starts_are_told_unless_they_are_as_ever() {
        let line = |start: &str| LINE.replace('\n', "").replace("\"seed\":1", &format!("\"start\":\"{start}\""));
        let options = |line: &str| BenchLine::parse(line).unwrap().sample(&cell(), 2, true).options;
        assert_eq!(options(&line("barrier")), options(&LINE.replace('\n', "")));
        assert_eq!(options(&line("together"))["start"], Value::from("together"));
    }

    #[test]
    fn intervals_end_when_they_were_asked_to() {
        let line = LINE.replace('\n', "").replace("\"result\"", "\"interval\"");
        let line = line.replace("\"seed\":1", "\"interval\":0.1").replace("\"peer\":1", "\"time\":0.312");
        let sample = BenchLine::parse(&line).unwrap().sample(&cell(), 2, true);
        assert_eq!(sample.options["time"], Value::from(0.3));
        assert!(BenchLine::parse(&line.replace("\"kind\":\"interval\"", "\"kind\":\"interval_total\"")).is_none());
    }

    #[test]
    fn time_in_mpi_and_what_is_read_from_files_are_values_of_their_own() {
        let line = LINE.replace('\n', "");
        assert!(BenchLine::parse(&line).unwrap().also().is_empty());
        let told = |bytes: u64| {
            let spread = r#"{"min":1.0,"mean":2.5,"max":3.0}"#;
            let more = format!(r#""communication_seconds":{spread},"file_bytes":{bytes},"kind""#);
            let also = BenchLine::parse(&line.replacen("\"kind\"", &more, 1)).unwrap().also();
            let samples = also.into_iter().map(|line| line.sample(&cell(), 2, false));
            samples.map(|sample| (sample.metric, sample.unit, sample.value)).collect::<Vec<_>>()
        };
        let communication = || ("communication_time".to_string(), "s".to_string(), 2.5);
        assert_eq!(told(0), [communication()]);
        let read = ("read_bandwidth".to_string(), "MB/s".to_string(), 2.0);
        assert_eq!(told(35_000_000), [communication(), read]);
    }

    #[test]
    fn lines_that_are_no_results_are_left_out() {
        let line = LINE.replace('\n', "");
        assert!(BenchLine::parse(&line.replace("\"result\"", "\"tier\"")).is_none());
        assert!(BenchLine::parse("# latency").is_none());
        assert!(BenchLine::parse(&line[..20]).is_none());
    }
}
