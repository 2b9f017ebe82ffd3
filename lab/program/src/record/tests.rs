use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use super::write::Writer;
use super::*;

const MANIFEST: &str = r#"{"schema": "fishplate-record/1", "fishplate": "0.1.0", "started": "2026-01-02T03:04:05Z",
    "machine": {"cpu": "Test \"CPU\"", "cores": 2, "memory_bytes": 8589934592, "kernel": "Linux 6.1", "hostname": "node0"},
    "load": 0.1, "stacks": [{"name": "tcp", "version": "1"}], "links": ["lan"], "benchmarks": [{"name": "latency"}],
    "rounds": 1, "seeds": {"link": 7}}"#;

/// One line of each kind but the manifest.
const LINES: [&str; 6] = [
    r#"{"kind": "link", "name": "lan", "rails": [{"name": "r0", "rate_mbit": 1000, "round_trip_us": {"mean": 40.5, "p99": 61}}],
        "emulator_cpu": 0.25}"#,
    r#"{"kind": "sample", "stack": "tcp", "link": "lan", "benchmark": "latency", "round": 0, "ranks": 2, "size_bytes": 8,
        "metric": "latency", "unit": "us", "value": 12.5, "percentiles": {"p99": 20}, "iterations": 1000, "checked": true,
        "options": {"window": 64}}"#,
    r#"{"kind": "rails", "stack": "tcp", "link": "lan", "benchmark": "latency", "round": 0, "step_s": 0.05, "rails": [{"name":
        "r0", "bytes": 1, "messages": 1, "share": 1, "retransmitted": 0, "rate_bytes_per_s": 1e8, "sent_over_time": [0, 1]}]}"#,
    r#"{"kind": "skipped", "stack": "tcp", "link": "lan", "benchmark": "latency", "reason": "none"}"#,
    r#"{"kind": "cell", "stack": "tcp", "link": "lan", "benchmark": "latency", "round": 0, "load": 0.5, "seconds": 1.5}"#,
    r#"{"kind": "statement", "id": "W10", "text": "faster", "verdict": "does-not-hold", "why": "slower",
        "values": {"ratio": 0.5}}"#,
];

fn manifest() -> Manifest {
    serde_json::from_str(MANIFEST).unwrap()
}

fn lines() -> Vec<Line> {
    LINES.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.jsonl");
    (folder, path)
}

fn write_all(path: &std::path::Path) {
    let mut writer = Writer::create(path, &manifest()).unwrap();
    lines().iter().for_each(|line| writer.append(line).unwrap());
}

/// All lines of a record but the manifest, in the order of [`lines`].
fn again(record: &Record) -> Vec<Line> {
    let mut all: Vec<Line> = record.links.iter().cloned().map(Line::Link).collect();
    all.extend(record.samples.iter().cloned().map(Line::Sample));
    all.extend(record.rails.iter().cloned().map(Line::Rails));
    all.extend(record.skipped.iter().cloned().map(Line::Skipped));
    all.extend(record.cells.iter().cloned().map(Line::Cell));
    all.extend(record.statements.iter().cloned().map(Line::Statement));
    all
}

fn append(path: &std::path::Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn written_records_are_read() {
    let (_folder, path) = place();
    write_all(&path);
    let record = read(&path).unwrap();
    assert_eq!(record.manifest, manifest());
    assert_eq!(again(&record), lines());
    assert_eq!((record.torn, record.whole_bytes), (None, fs::metadata(&path).unwrap().len()));
}

#[test]
fn a_torn_last_line_is_reported_and_cut_wherever_it_tears() {
    let (_folder, path) = place();
    write_all(&path);
    let whole = fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for end in last + 1..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        let record = read(&path).unwrap();
        assert_eq!(record.torn, Some(7));
        assert!(record.torn_note().unwrap().contains("line 7"));
        assert_eq!(again(&record), lines()[..5]);
        let (mut writer, record) = Writer::resume(&path).unwrap();
        assert_eq!(record.torn, Some(7));
        writer.append(&lines()[5]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn malformed_lines_are_named() {
    let cases = [
        ("{\"kind\": \"sample\"\n", "not JSON"),
        ("{\"kind\": \"sample\"}\n", "a malformed line of kind \"sample\": missing field `stack`"),
        ("{\"kind\": \"surprise\"}\n", "unknown kind \"surprise\": there are manifest, link"),
        ("{}\n", "a line without \"kind\""),
        ("\n", "not JSON"),
    ];
    for (line, message) in cases {
        let (_folder, path) = place();
        write_all(&path);
        append(&path, line);
        let error = format!("{:#}", read(&path).unwrap_err());
        assert!(error.contains("record.jsonl, line 8: ") && error.contains(message), "{error}");
        assert!(Writer::resume(&path).is_err());
    }
}

#[test]
fn files_that_are_no_records_are_reported() {
    let (_folder, path) = place();
    let mut first = serde_json::to_value(Line::Manifest(Box::new(manifest()))).unwrap();
    first["schema"] = "fishplate-record/2".into();
    let cases = [
        (String::new(), "no complete first line"),
        ("{\"kind\":\"manifest\"".into(), "no complete first line"),
        ("hello\n".into(), "line 1: not a record"),
        ("{\"kind\":\"sample\"}\n".into(), "line 1: not a record"),
        (format!("{first}\n"), "the schema is fishplate-record/2, and this program reads fishplate-record/1"),
    ];
    for (text, message) in cases {
        fs::write(&path, text).unwrap();
        let error = format!("{:#}", read(&path).unwrap_err());
        assert!(error.contains("record.jsonl") && error.contains(message), "{error}");
    }
}

#[test]
fn later_minor_versions_may_add_fields() {
    let (_folder, path) = place();
    let mut first = serde_json::to_value(Line::Manifest(Box::new(manifest()))).unwrap();
    first["schema"] = "fishplate-record/1.3".into();
    first["moon"] = "full".into();
    let mut sample = serde_json::to_value(&lines()[1]).unwrap();
    sample["tide"] = serde_json::json!({"height": 1});
    fs::write(&path, format!("{first}\n{sample}\n")).unwrap();
    assert_eq!(read(&path).unwrap().samples.len(), 1);
}

#[test]
fn there_is_one_writer_and_nothing_is_overwritten() {
    let (_folder, path) = place();
    let writer = Writer::create(&path, &manifest()).unwrap();
    let error = format!("{:#}", Writer::create(&path, &manifest()).err().unwrap());
    assert!(error.contains("exists already") && error.contains("record.jsonl"), "{error}");
    let error = format!("{:#}", Writer::resume(&path).err().unwrap());
    assert!(error.contains("another process is writing") && error.contains("record.jsonl"), "{error}");
    drop(writer);
    assert!(Writer::resume(&path).is_ok());
}

#[test]
fn a_full_disk_is_reported_with_the_file() {
    let mut writer = Writer::to_full_disk();
    let error = format!("{:#}", writer.append(&lines()[0]).unwrap_err());
    assert!(error.contains("/dev/full") && error.contains("No space left on device"), "{error}");
}
