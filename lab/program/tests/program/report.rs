//! What `fishplate report` makes of records, and what it says of bad ones. The page itself is opened by tests/report.

use std::fs::{self, OpenOptions};
use std::io::Write;

use crate::common::Installed;
use crate::records;
use serde_json::{Value, json};

/// Two stacks, one of them 10 % faster in every round, and a line of each kind.
fn lines() -> Vec<Value> {
    let mut lines = records::of(&[("tcp", &[100.0, 200.0, 400.0]), ("fast|er", &[110.0, 220.0, 440.0])]);
    let whose = json!({"stack": "tcp", "link": "lan", "benchmark": "bandwidth"});
    let with = |more: Value| {
        let mut line = whose.clone();
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    for round in 0..3 {
        lines.push(with(json!({"kind": "cell", "round": round, "load": 0.5, "seconds": 1.0})));
    }
    let share =
        json!({"name": "r0", "bytes": 10, "messages": 1, "share": 1.0, "retransmitted": 2, "rate_bytes_per_s": 1.0});
    lines.push(with(json!({"kind": "rails", "round": 0, "rails": [share]})));
    lines.push(with(json!({"kind": "skipped", "stack": "fast|er", "reason": "no <reason>"})));
    let statement =
        json!({"kind": "statement", "id": "W10", "text": "It is fast.", "verdict": "holds", "why": "It was."});
    lines.push(statement);
    lines
}

const CSV: &str = "\
benchmark,metric,unit,link,ranks,size_bytes,options,axis,place,stack,rounds,median,least,greatest,p99,ratio,ratio_low,ratio_high
bandwidth,bandwidth,MB/s,lan,2,,window=64,size_bytes,65536,tcp,3,200,100,400,250,1.0000,1.0000,1.0000
bandwidth,bandwidth,MB/s,lan,2,,window=64,size_bytes,65536,fast|er,3,220,110,440,275,1.1000,1.1000,1.1000
";

#[test]
fn points_as_csv() {
    let fishplate = Installed::new();
    records::write(&fishplate.path("r.jsonl"), &lines());
    let ran = fishplate.run(&["report", "r.jsonl", "--csv", "-"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), CSV, ""));
    assert!(!fishplate.path("report.html").exists());
}

#[test]
fn everything_as_markdown() {
    let fishplate = Installed::new();
    records::write(&fishplate.path("r.jsonl"), &lines());
    let ran = fishplate.run(&["report", "r.jsonl", "--markdown", "-"]).succeeds();
    for line in [
        "# Two &lt;stacks>",
        "| benchmark | on | at | tcp | fast\\|er |",
        "| Bandwidth | lan | 64 KiB | 1 | **1.10 (1.10–1.10)** |",
        "| W10 | It is fast. | holds | It was. |",
        "## Bandwidth: lan",
        "| 64 KiB | 200 MB/s (100–400 MB/s) | 220 MB/s (110–440 MB/s) |",
        "| lan | r0 | 1 Gbit/s | 100 us | 1.00 % | 64 KiB | 950 Mbit/s (-5.0 %) | 240 us, p99 300 us | 25.0 % |",
        "| fast\\|er | lan | bandwidth | no &lt;reason> |",
        "| Load of the machine | 0.25 before, 0.25 to 0.5 meanwhile |",
    ] {
        assert!(ran.out.lines().any(|found| found == line), "no line\n{line}\nin\n{}", ran.out);
    }
}

#[test]
fn rails_over_time_are_on_the_page_where_a_record_has_them() {
    let fishplate = Installed::new();
    let page = |step_s: Value| {
        let mut lines = lines();
        let rails = lines.iter_mut().find(|line| line["kind"] == "rails").unwrap();
        rails["step_s"] = step_s;
        rails["rails"][0]["sent_over_time"] = json!([0, 500_000]);
        records::write(&fishplate.path("r.jsonl"), &lines);
        fishplate.run(&["report", "r.jsonl"]).succeeds();
        fs::read_to_string(fishplate.path("report.html")).unwrap()
    };
    let told = page(json!(0.5));
    assert!(told.contains("Rails over time") && told.contains("tcp, 0.500: 1.00 MB/s"), "{told}");
    // Steps without a length say nothing.
    assert!(!page(json!(0.0)).contains("Rails over time") && !page(Value::Null).contains("Rails over time"));
}

#[test]
fn the_same_record_gives_the_same_page_whatever_its_name() {
    let fishplate = Installed::new();
    for name in ["a", "b"] {
        records::write(&fishplate.path(&format!("{name}.jsonl")), &lines());
        fishplate.run(&["report", &format!("{name}.jsonl"), "-o", &format!("{name}.html")]).succeeds();
    }
    let page = fs::read_to_string(fishplate.path("a.html")).unwrap();
    assert_eq!(page, fs::read_to_string(fishplate.path("b.html")).unwrap());
    for outside in ["http:", "https:", "src=", "<link", "url(", "@import"] {
        assert!(!page.contains(outside), "the page needs {outside}");
    }
    assert!(page.contains("Two &lt;stacks&gt;") && page.contains("no &lt;reason&gt;") && !page.contains("<stacks>"));
}

#[test]
fn a_killed_writer_costs_its_last_line_only() {
    let fishplate = Installed::new();
    let file = fishplate.path("r.jsonl");
    records::write(&file, &lines());
    OpenOptions::new().append(true).open(&file).unwrap().write_all(b"{\"kind\": \"sam").unwrap();
    let ran = fishplate.run(&["report", "r.jsonl"]).succeeds();
    assert!(ran.err.contains("r.jsonl, line 15: the last line is torn"), "{}", ran.err);
    assert!(fs::read_to_string(fishplate.path("report.html")).unwrap().contains("line 15 was not complete"));
}

#[test]
fn incomplete_operations_are_reported() {
    let fishplate = Installed::new();
    let mut lines = lines();
    lines.retain(|line| line["kind"] != "skipped" && !(line["kind"] == "cell" && line["round"] == 1));
    records::write(&fishplate.path("r.jsonl"), &lines);
    let ran = fishplate.run(&["report", "r.jsonl", "--markdown", "-"]);
    ran.shows(&[
        "| tcp | lan | bandwidth | not complete: 2 of 3 rounds |",
        "| fast\\|er | lan | bandwidth | not complete: 0 of 3 rounds |",
    ]);
}

#[test]
fn records_of_several_runs_count_as_more_rounds() {
    let fishplate = Installed::new();
    records::write(&fishplate.path("a.jsonl"), &lines());
    records::write(&fishplate.path("b.jsonl"), &lines());
    let ran = fishplate.run(&["report", "a.jsonl", "b.jsonl", "--csv", "-"]);
    ran.shows(&["65536,tcp,6,200,100,400"]);
}

#[test]
fn a_resumed_cell_replaces_what_was_measured_of_it() {
    let fishplate = Installed::new();
    let mut lines = lines();
    lines.push(records::sample("tcp", 65536, 2, 100.0));
    records::write(&fishplate.path("r.jsonl"), &lines);
    let ran = fishplate.run(&["report", "r.jsonl", "--csv", "-"]);
    ran.shows(&["65536,tcp,3,100,100,200"]);
}

#[test]
fn charts_go_over_what_the_manifest_says() {
    let fishplate = Installed::new();
    let mut lines = lines();
    lines[0]["benchmarks"][0]["axis"] = "window".into();
    let ran = |lines: &[Value]| {
        records::write(&fishplate.path("r.jsonl"), lines);
        fishplate.run(&["report", "r.jsonl", "--csv", "-"])
    };
    assert!(ran(&lines).out.contains("lan,2,65536,,window,64,tcp,3,200"));
    lines[0]["benchmarks"][0]["axis"] = "link.delay_us".into();
    assert!(ran(&lines).out.contains("bandwidth,MB/s,,2,65536,window=64,link.delay_us,100,tcp,3,200"));
    lines[0]["benchmarks"][0]["axis"] = "streams".into();
    ran(&lines).fails_saying(&["r.jsonl", "a sample of bandwidth has no number as its option streams"]);
    lines[0]["benchmarks"][0]["axis"] = "link.delay_us".into();
    lines.remove(1);
    ran(&lines).fails_saying(&["r.jsonl", "no line of kind \"link\" describes the link lan"]);
}

#[test]
fn bad_records_and_options() {
    let fishplate = Installed::new();
    fs::write(fishplate.path("empty.jsonl"), "").unwrap();
    records::write(&fishplate.path("r.jsonl"), &lines());
    let mut other = lines();
    other[1] = records::link(500);
    records::write(&fishplate.path("other.jsonl"), &other);
    fishplate.fails_as_listed(include_str!("mistakes/report.txt"));

    let with = |line: Value| {
        let mut lines = lines();
        lines.insert(2, line);
        records::write(&fishplate.path("bad.jsonl"), &lines);
        fishplate.run(&["report", "bad.jsonl"])
    };
    with(json!({"kind": "moon"})).fails_saying(&["bad.jsonl, line 3: unknown kind \"moon\""]);
    with(json!({"kind": "cell", "stack": "tcp", "load": 0.5, "seconds": 1.0})).fails_saying(&[
        "bad.jsonl, line 3",
        "\"cell\"",
        "missing field `link`",
    ]);
    with(records::sample("tcp", 1, 0, -1.0)).fails_saying(&["bad.jsonl, line 3", "-1", "negative"]);
    with(records::manifest(1)).fails_saying(&["bad.jsonl, line 3", "a second manifest"]);
}

#[test]
fn the_documented_example_is_a_record() {
    let fishplate = Installed::new();
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/record.md");
    let page = fs::read_to_string(page).unwrap();
    let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    fs::write(fishplate.path("r.jsonl"), example).unwrap();
    let ran = fishplate.run(&["report", "r.jsonl", "--csv", "-"]);
    assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 2), "{}", ran.err);
}
