//! What `fishplate validate --from` says of records. That it measures as well is for a machine with namespaces and MPI.

use std::fs;

use crate::common::Installed;
use crate::records;
use serde_json::{Value, json};

/// A record of two links, a near one and a far one, as `fishplate bench` leaves it.
fn lines(samples: &[(&str, &str, u64, &str, f64)]) -> Vec<Value> {
    let mut manifest = records::manifest(1);
    manifest["stacks"] = json!([{"name": "earliest", "version": "1"}]);
    manifest["links"] = json!(["near", "far"]);
    manifest["benchmarks"] = json!([{"name": "latency"}, {"name": "bandwidth"}, {"name": "message_rate"}]);
    manifest["options"]["plan"] = json!({
        "stacks": ["earliest"], "own_stacks": {"earliest": {"like": "fishplate-mpich"}}, "rounds": 1,
        "links": [{"name": "near", "rails": [{"rate_mbit": 1000}]},
                  {"name": "far", "rails": [{"rate_mbit": 500, "delay": "1ms"}]}],
        "benchmarks": [{"name": "latency", "program": "latency"}, {"name": "bandwidth", "program": "bandwidth"},
                       {"name": "message_rate", "program": "message_rate"}],
    });
    let mut lines = vec![manifest];
    for name in ["near", "far"] {
        lines.push(json!({"kind": "link", "name": name, "rails": [{"name": "r0", "rate_mbit": 500}]}));
    }
    for (benchmark, link, size, unit, value) in samples {
        let window = if *benchmark == "latency" { Value::Null } else { json!(16) };
        lines.push(json!({
            "kind": "sample", "stack": "earliest", "link": link, "benchmark": benchmark, "round": 0, "ranks": 2,
            "size_bytes": size, "metric": "any", "unit": unit, "value": value * 3.0, "percentiles": {"p50": value},
            "options": {"window": window},
        }));
    }
    lines
}

/// All points that set the model, and one that it predicts: 4 MiB at 1000 Mbit/s.
const WHOLE: [(&str, &str, u64, &str, f64); 7] = [
    ("latency", "near", 64, "us", 10.0),
    ("bandwidth", "near", 16, "MB/s", 6.0),
    ("latency", "near", 65536, "us", 400.0),
    ("latency", "near", 4 << 20, "us", 35_000.0),
    ("message_rate", "near", 16, "1/s", 500_000.0),
    ("latency", "far", 64, "us", 1040.0),
    ("bandwidth", "far", 64, "MB/s", 0.45),
];

#[test]
fn the_same_record_gives_the_same_table_and_page() {
    let fishplate = Installed::new();
    records::write(&fishplate.path("r.jsonl"), &lines(&WHOLE));
    let ran = fishplate.run(&["validate", "--from", "r.jsonl", "-o", "a.html"]).succeeds();
    ran.shows(&[
        "predicted: 1 points",
        "6 points set the model",
        "(median below 5 %, 90th percentile below 12 %) is met",
    ]);
    let again = fishplate.run(&["validate", "--from", "r.jsonl", "-o", "b.html"]);
    assert_eq!(again.out.replace("b.html", "a.html"), ran.out);
    let page = fs::read_to_string(fishplate.path("a.html")).unwrap();
    assert_eq!(page, fs::read_to_string(fishplate.path("b.html")).unwrap());
    for part in ["Measured and simulated", "earliest, simulated", "calibration"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_model_that_is_off_is_reported_by_the_exit_code() {
    let fishplate = Installed::new();
    let mut off = WHOLE;
    off[3].4 *= 1.5;
    records::write(&fishplate.path("r.jsonl"), &lines(&off));
    let ran = fishplate.run(&["validate", "--from", "r.jsonl"]).ends_with(1);
    ran.shows(&["is not met"]);
    assert!(!fishplate.path("validate.html").exists());
}

#[test]
fn statements_that_cannot_be_judged_are_reported() {
    let fishplate = Installed::new();
    let judge = |file: &str| fishplate.run(&["validate", "--from", file]);
    judge("missing.jsonl").fails_saying(&["cannot read the record missing.jsonl"]);
    fs::write(fishplate.path("text"), "no record\n").unwrap();
    judge("text").fails_saying(&["text, line 1"]);
    records::write(&fishplate.path("other.jsonl"), &records::of(&[("tcp", &[1.0])]));
    judge("other.jsonl").fails_saying(&["other.jsonl was not written by `fishplate bench`: it has no plan"]);
    records::write(&fishplate.path("empty.jsonl"), &lines(&[]));
    judge("empty.jsonl").fails_saying(&["empty.jsonl: nothing was measured"]);
    records::write(&fishplate.path("part.jsonl"), &lines(&WHOLE[1..]));
    judge("part.jsonl").fails_saying(&["part.jsonl", "no latency at 64 bytes on a link without a delay"]);
    let mut unknown = lines(&WHOLE);
    unknown.iter_mut().filter(|line| line["kind"] == "sample").for_each(|line| line["stack"] = json!("zebra"));
    records::write(&fishplate.path("unknown.jsonl"), &unknown);
    judge("unknown.jsonl").fails_saying(&["emulated has no stack zebra", "earliest"]);
    let both = fishplate.run(&["validate", "--from", "a.jsonl", "--record", "b.jsonl"]);
    both.fails_saying(&["--from", "--record"]);
}
