//! What `fishplate compare` says of two records, and its exit codes.

use crate::common::{Installed, Ran};
use crate::records;
use serde_json::Value;

const STEADY: &[f64] = &[100.0, 101.0, 99.0, 100.5, 99.5];

fn compare(before: &[Value], after: &[Value], options: &[&str]) -> Ran {
    let fishplate = Installed::new();
    records::write(&fishplate.path("a.jsonl"), before);
    records::write(&fishplate.path("b.jsonl"), after);
    fishplate.run(&[&["compare", "a.jsonl", "b.jsonl"], options].concat())
}

fn one(values: &[f64]) -> Vec<Value> {
    records::of(&[("tcp", values)])
}

#[test]
fn noise_is_no_change() {
    let ran = compare(&one(STEADY), &one(&[100.2, 98.9, 101.1, 99.8, 100.4]), &[]).succeeds();
    assert_eq!(ran.out, "0 worse, 0 better, 1 unchanged within noise and 5.00 %.\n");
    // As far apart as a regression, but noise would explain it.
    let ran = compare(&one(&[100.0, 140.0, 70.0]), &one(&[80.0, 120.0, 60.0]), &["--all"]).succeeds();
    ran.shows(&["same", "tcp"]);
}

#[test]
fn a_regression_is_reported_and_an_improvement_is_none() {
    let slower: Vec<f64> = STEADY.iter().map(|value| value * 0.8).collect();
    let ran = compare(&one(STEADY), &one(&slower), &[]).ends_with(1);
    ran.shows(&["tcp", "lan", "bandwidth", "64 KiB", "worse", "100 MB/s", "80.0 MB/s", "-20.0 %", "1 worse, 0 better"]);
    let ran = compare(&one(&slower), &one(STEADY), &[]).succeeds();
    ran.shows(&["+25.0 %", "0 worse, 1 better"]);
}

#[test]
fn longer_times_are_worse() {
    let times = |values: &[f64]| {
        let mut lines = one(values);
        lines[2..].iter_mut().for_each(|line| line["unit"] = "us".into());
        lines
    };
    let longer: Vec<f64> = STEADY.iter().map(|value| value * 1.3).collect();
    assert_eq!(compare(&times(STEADY), &times(&longer), &[]).code, Some(1));
    assert_eq!(compare(&times(&longer), &times(STEADY), &[]).code, Some(0));
}

#[test]
fn the_threshold_decides_what_counts() {
    let slower: Vec<f64> = STEADY.iter().map(|value| value * 0.92).collect();
    assert_eq!(compare(&one(STEADY), &one(&slower), &[]).code, Some(1));
    assert_eq!(compare(&one(STEADY), &one(&slower), &["--threshold", "15"]).code, Some(0));
    let ran = compare(&one(STEADY), &one(&slower), &["--threshold=-1"]).ends_with(2);
    ran.fails_saying(&["--threshold", "0 to 1000"]);
}

#[test]
fn the_worst_comes_first() {
    let scaled = |factor: f64| STEADY.iter().map(|value| value * factor).collect::<Vec<_>>();
    let before = records::of(&[("a", STEADY), ("b", STEADY), ("c", STEADY)]);
    let after = records::of(&[("a", &scaled(0.8)), ("b", &scaled(1.5)), ("c", &scaled(0.5))]);
    let ran = compare(&before, &after, &[]);
    let order: Vec<char> =
        ran.out.lines().skip(2).take(3).filter_map(|line| line.trim_start().chars().next()).collect();
    assert_eq!(order, ['c', 'a', 'b'], "{}", ran.out);
}

#[test]
fn missing_points_are_named_and_count_unless_allowed() {
    let both = records::of(&[("tcp", STEADY), ("ucx", STEADY)]);
    let ran = compare(&both, &one(STEADY), &[]).ends_with(1);
    ran.shows(&["Only in the first record: ucx, lan, bandwidth: 64 KiB"]);
    assert_eq!(compare(&both, &one(STEADY), &["--allow-missing"]).code, Some(0));
    let ran = compare(&one(STEADY), &both, &[]).succeeds();
    ran.shows(&["Only in the second record: ucx"]);
}

#[test]
fn an_unknown_value_is_an_error() {
    let ran = compare(&one(&[100.0]), &one(&[50.0]), &[]).ends_with(2);
    ran.fails_saying(&["nothing could be tested", "two rounds"]);
    let ran = compare(&one(STEADY), &records::of(&[("ucx", STEADY)]), &[]).ends_with(2);
    ran.fails_saying(&["a.jsonl and b.jsonl have nothing in common"]);
    let mut other = one(STEADY);
    other[1] = records::link(10);
    let ran = compare(&one(STEADY), &other, &[]).ends_with(2);
    ran.fails_saying(&["the link lan differs"]);
    let ran = Installed::new().run(&["compare", "a.jsonl", "b.jsonl"]).ends_with(2);
    ran.fails_saying(&["cannot read the record a.jsonl"]);
}
