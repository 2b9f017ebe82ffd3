//! Small records (docs/reference/record.md).

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// A manifest of two stacks on one link with one benchmark.
pub fn manifest(rounds: usize) -> Value {
    json!({
        "kind": "manifest", "schema": "fishplate-record/1", "fishplate": "0.1.0", "started": "2026-01-02T03:04:05Z",
        "title": "Two <stacks>", "load": 0.25,
        "machine": {"cpu": "CPU", "cores": 2, "memory_bytes": 8589934592_u64, "kernel": "Linux 6.1", "hostname": "lab"},
        "stacks": [{"name": "tcp", "version": "1.0"}, {"name": "fast|er", "version": "2.0"}],
        "links": ["lan"], "benchmarks": [{"name": "bandwidth"}], "rounds": rounds, "seeds": {"link": 7}, "options": {},
    })
}

/// A link with one rail.
pub fn link(rate_mbit: u32) -> Value {
    let rail = json!({
        "name": "r0", "rate_mbit": rate_mbit, "delay_us": 100, "loss": 0.01, "queue_bytes": 65536,
        "measured_mbit": 950.0, "round_trip_us": {"mean": 240.0, "p99": 300.0},
    });
    json!({"kind": "link", "name": "lan", "rails": [rail], "emulator_cpu": 0.25})
}

/// One value of bandwidth.
pub fn sample(stack: &str, size: u64, round: usize, value: f64) -> Value {
    json!({
        "kind": "sample", "stack": stack, "link": "lan", "benchmark": "bandwidth", "round": round, "ranks": 2,
        "size_bytes": size, "metric": "bandwidth", "unit": "MB/s", "value": value,
        "percentiles": {"p99": value * 1.25}, "options": {"window": 64, "check": false, "pairs": null},
    })
}

/// Manifest, link, and samples of 64 KiB, a value a round.
pub fn of(stacks: &[(&str, &[f64])]) -> Vec<Value> {
    let rounds = stacks.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let mut lines = vec![manifest(rounds), link(1000)];
    for (stack, values) in stacks {
        lines.extend(values.iter().enumerate().map(|(round, value)| sample(stack, 65536, round, *value)));
    }
    lines
}

/// Writes a record.
pub fn write(path: &Path, lines: &[Value]) {
    fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}
