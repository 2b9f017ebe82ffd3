//! `fishplate predict` and `fishplate trace`, with traces that are made up.

use std::fs::{self, File};
use std::path::Path;

use crate::common::{Installed, Ran};
use fishplate_trace::rank_file::Header;
use fishplate_trace::write::{OwnTail, Writer};
use fishplate_trace::{Mode, Operation, Receive, Send};

/// Writes a rank that computes for 1 ms before each call.
fn write(folder: &Path, rank: u32, ranks: u32, operations: &[Operation]) {
    fs::create_dir_all(folder).unwrap();
    let header = Header {
        world: 1,
        host: format!("node{rank}"),
        machine: format!("machine {rank}"),
        program: "/opt/app/bin/heat".into(),
        ..Header::synthetic(rank, ranks)
    };
    let file = File::create(folder.join(format!("node{rank}.1.trace"))).unwrap();
    let mut writer = Writer::begin(file, OwnTail::new(), &header).unwrap();
    let world = Operation::Communicator { number: 0, context: 1, members: (0..ranks).collect() };
    writer.push(&world, [0, 0]).unwrap();
    operations.iter().chain([&Operation::End]).for_each(|operation| writer.push(operation, [1_000_000, 0]).unwrap());
    writer.finish().unwrap();
}

/// Rank 0 sends 10 MB to rank 1.
fn two_ranks(folder: &Path) {
    let (communicator, tag, bytes, has_gaps, request) = (0, 7, 10_000_000, false, None);
    let send = Send { communicator, to: 1, tag, bytes, mode: Mode::Standard, has_gaps, request };
    let receive = Receive { communicator, from: Some(0), tag: Some(tag), bytes, has_gaps, request };
    write(folder, 0, 2, &[Operation::Send(send)]);
    write(folder, 1, 2, &[Operation::Receive(receive)]);
}

/// Predictions, as JSON has them.
#[track_caller]
fn predicted(fishplate: &Installed, args: &[&str]) -> serde_json::Value {
    let ran = fishplate.run(&[&["predict"], args, &["--json"]].concat()).succeeds();
    serde_json::from_str(&ran.out).unwrap()
}

/// Run time on the only network.
#[track_caller]
fn run_s(fishplate: &Installed, args: &[&str]) -> f64 {
    predicted(fishplate, args)[0]["run_s"].as_f64().unwrap()
}

#[test]
fn a_program_on_three_networks() {
    let fishplate = Installed::new();
    two_ranks(&fishplate.path("run"));
    let ran = fishplate.run(&["predict", "run", "one=1000", "two=1000+1000", "ib-2x400", "--sensitivity"]).succeeds();
    ran.shows(&["heat, 2 ranks, 1 on a node, 6 calls; computation as elapsed time"]);
    let run_ms = |name: &str| -> f64 {
        let line = ran.out.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert!(ran.out.lines().all(|line| line.chars().count() <= 100), "{}", ran.out);
    ran.shows(&["Limits, in percent of the run time"]);
    // 10 MB at 1 Gbit/s are 80 ms, with headers 84; and 2 ms of computation.
    let (one, two, fast) = (run_ms("one"), run_ms("two"), run_ms("ib-2x400"));
    assert!((84.0..90.0).contains(&one) && (42.0..50.0).contains(&two) && fast < 3.0, "{one} {two} {fast}");
    assert_eq!(
        ran.out,
        fishplate.run(&["predict", "run", "one=1000", "two=1000+1000", "ib-2x400", "--sensitivity"]).out
    );
}

#[test]
fn faster_processors_and_other_parameters() {
    let fishplate = Installed::new();
    two_ranks(&fishplate.path("run"));
    let run_s = |options: &[&str]| -> f64 {
        let found = predicted(&fishplate, &[&["run", "eth-100g-wan"], options].concat());
        let parts = found[0]["critical_path"].as_object().unwrap();
        let sum: f64 = parts.values().map(|part| part.as_f64().unwrap()).sum();
        assert!((sum - found[0]["run_s"].as_f64().unwrap()).abs() < 1e-9, "{found}");
        found[0]["run_s"].as_f64().unwrap()
    };
    let plain = run_s(&[]);
    assert!((run_s(&["--compute-scale", "2"]) - (plain - 0.001)).abs() < 1e-5);
    assert!(run_s(&["--set", "wan.delay_us=50000"]) > plain + 0.03);
}

#[test]
fn a_sweep() {
    let fishplate = Installed::new();
    two_ranks(&fishplate.path("run"));
    let sweeps = ["--sweep", "wan.delay_us=0,10000", "--sweep", "wan.mbit=10000,100000"];
    let found = predicted(&fishplate, &[&["run", "eth-100g-wan"], &sweeps[..]].concat());
    let runs: Vec<(&str, f64)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["network"].as_str().unwrap(), one["run_s"].as_f64().unwrap()))
        .collect();
    assert_eq!(runs.len(), 4);
    assert_eq!(runs[3].0, "eth-100g-wan wan.delay_us=10000 wan.mbit=100000");
    assert!(runs[0].1 > runs[1].1 && runs[2].1 > runs[0].1 && runs[3].1 > runs[1].1, "{runs:?}");
}

#[test]
fn a_sweep_in_shares() {
    let fishplate = Installed::new();
    two_ranks(&fishplate.path("run"));
    fn sweep<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["predict", "run", "eth-100g-wan", "--sweep", "wan.delay_us=0,1000,10000"][..], more].concat()
    }
    let whole = fishplate.run(&sweep(&[])).out;
    let with = |number: &str| {
        let set = [("PMI_RANK", number), ("PMI_SIZE", "2")];
        Ran::of(fishplate.command(&sweep(&["--results", "kept"])).envs(set).output().unwrap())
    };
    let files = || fs::read_dir(fishplate.path("kept")).unwrap().count();
    let first = with("0");
    assert_eq!(first.out, "process 0 of 2: 2 networks predicted, in kept\n", "{}", first.err);
    assert_eq!(files(), 2);
    // It was stopped, and goes on: nothing is left to do.
    assert_eq!(with("0").out, "process 0 of 2: 0 networks predicted, in kept\n");
    // The last call makes the missing predictions, and shows all.
    let last = fishplate.run(&sweep(&["--results", "kept"]));
    assert_eq!((last.out.as_str(), files()), (whole.as_str(), 3), "{}", last.err);
    // Another question is another one.
    fishplate.run(&sweep(&["--results", "kept", "--compute-scale", "2"]));
    assert_eq!(files(), 6);
    let kept: Vec<_> = fs::read_dir(fishplate.path("kept")).unwrap().map(|entry| entry.unwrap().path()).collect();
    kept.iter().for_each(|file| fs::write(file, "{}").unwrap());
    fishplate.run(&sweep(&["--results", "kept"])).fails_saying(&["is no prediction (missing field `network`"]);
    fishplate.run(&sweep(&["--results", "run/node0.1.trace"])).fails_saying(&["run/node0.1.trace: cannot make it"]);
}

#[test]
fn a_page() {
    let fishplate = Installed::new();
    two_ranks(&fishplate.path("run"));
    let networks = ["one=1000", "two=1000+250", "three=1000+1000"];
    let ran = fishplate.run(&[&["predict", "run"], &networks[..], &["--page", "page.html"]].concat()).succeeds();
    assert!(
        ran.out.contains("RPI: share of the gain of three over one that each network has, in MPI and in run time"),
        "{}",
        ran.out
    );
    let page = fs::read_to_string(fishplate.path("page.html")).unwrap();
    let parts = [
        "Prediction for heat",
        "Limits of the run time",
        "Gain of each network",
        "Critical path",
        "MPI_Send",
        "Messages between ranks",
        "rank 0 on node0",
        "r1 sent",
    ];
    for part in parts {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.len() < 500_000 && !page.contains("Where the program calls MPI"), "{}", page.len());
}

#[test]
fn a_trace_is_shown() {
    let fishplate = Installed::new();
    two_ranks(&fishplate.path("run"));
    let stat = fishplate.run(&["trace", "stat", "run"]);
    assert!(stat.out.starts_with("heat, 2 ranks: 6 calls, "), "{}", stat.out);
    let show = fishplate.run(&["trace", "show", "run", "--rank", "1"]);
    let lines: Vec<&str> = show.out.lines().map(|line| line.split("  ").last().unwrap()).collect();
    assert_eq!(lines, ["communicator 0 is [0, 1]", "receive of 10000000 B from 0 on 0, tag 7", "end"]);
}

#[test]
fn mistakes_are_reported() {
    let fishplate = Installed::new();
    two_ranks(&fishplate.path("run"));
    write(&fishplate.path("half"), 1, 2, &[]);
    fs::create_dir(fishplate.path("empty")).unwrap();
    (0..9).for_each(|rank| write(&fishplate.path("nine"), rank, 9, &[]));
    let window = Operation::OneSided { window: 0, target: 0, written: 8, read: 0, request: None };
    write(&fishplate.path("put"), 0, 1, &[window]);
    fishplate.run(&["trace", "export", "run", "--format", "ti", "--output", "app.ti"]).succeeds();
    for (name, text) in [
        ("one.goal", "num_ranks 1\nrank 0 {\ncalc 5\n}\n"),
        ("after.goal", in_goal("s requires c").as_str()),
        ("circle.goal", in_goal("s requires c\nc requires s").as_str()),
        ("wrong.goal", "num_ranks 1\nrank 0 {\nsend 5b to 3\n}\n"),
        ("other", "hello"),
        ("list.ti", "app.0.txt\napp.9.txt\n"),
        ("bad.ti", "0 init\n0 dance\n"),
    ] {
        fs::write(fishplate.path(name), text).unwrap();
    }
    fishplate.fails_as_listed(include_str!("mistakes/predict.txt"));
}

/// A program in GOAL, whose rank 0 sends 10 MB, and computes for 1 ms.
fn in_goal(order: &str) -> String {
    format!(
        "num_ranks 2\nrank 0 {{\ns: send 10000000b to 1 tag 5\nc: calc 1000000\n{order}\n}}\nrank 1 {{\nr: recv 10000000b \
         from 0 tag 5 cpu 0\n}}\n"
    )
}

#[test]
fn a_program_in_goal() {
    let fishplate = Installed::new();
    fs::write(fishplate.path("after.goal"), in_goal("s requires c")).unwrap();
    fs::write(fishplate.path("beside.goal"), in_goal("")).unwrap();
    let run_s = |file: &str| run_s(&fishplate, &[file, "one=1000"]);
    // 83.6 ms for the message, 1 ms for the computation, of which a shaper makes some good.
    let (after, beside) = (run_s("after.goal"), run_s("beside.goal"));
    assert!((0.084..0.087).contains(&after) && beside < after - 0.0003, "{after} {beside}");
}

#[test]
fn traces_of_simgrid() {
    let fishplate = Installed::new();
    two_ranks(&fishplate.path("run"));
    fishplate.run(&["trace", "export", "run", "--format", "ti", "--output", "app.ti"]).succeeds();
    assert_eq!(fs::read_to_string(fishplate.path("app.ti")).unwrap(), "app.0.txt\napp.1.txt\n");
    let sender = fs::read_to_string(fishplate.path("app.0.txt")).unwrap();
    // A trace has times in steps of 0.1 %.
    assert_eq!(sender, "0 init\n0 compute 1000059\n0 send 1 7 10000000\n0 compute 1000059\n0 finalize\n");
    let run_s = |what: &[&str]| run_s(&fishplate, &[what, &["eth-100g-wan"]].concat());
    let (own, again) = (run_s(&["run"]), run_s(&["app.ti", "--flops", "1e9"]));
    assert!((again / own - 1.0).abs() < 1e-6, "{own} {again}");
    // Of 2 ms of computation 1 ms less.
    let gain = own - run_s(&["app.ti", "--flops", "2e9"]);
    assert!((gain - 0.001).abs() < 1e-5, "{gain}");
}

#[test]
fn a_trace_in_goal_takes_as_long() {
    let fishplate = Installed::new();
    two_ranks(&fishplate.path("run"));
    fishplate.run(&["trace", "export", "run", "--output", "run.goal"]).succeeds();
    let text = fs::read_to_string(fishplate.path("run.goal")).unwrap();
    assert!(text.starts_with("num_ranks 2\n\nrank 0 {\nl0: calc "), "{text}");
    assert!(text.contains("l1: send 10000000b to 1 tag 0\nl1 requires l0\n"), "{text}");
    let run_s = |what: &str| run_s(&fishplate, &[what, "one=1000"]);
    assert!((run_s("run.goal") / run_s("run") - 1.0).abs() < 0.001);
}

#[test]
fn ranks_that_wait_for_ever_are_named() {
    let fishplate = Installed::new();
    let from = |from| {
        let (communicator, tag, has_gaps, request) = (0, Some(4), false, None);
        Operation::Receive(Receive { communicator, from: Some(from), tag, bytes: 8, has_gaps, request })
    };
    (0..2).for_each(|rank| write(&fishplate.path("run"), rank, 2, &[from(1 - rank)]));
    let wanted = "one: ranks wait for ever: rank 0 in call 2 of 3: receives from rank 1 with tag 4; rank 1 in call 2 of 3: \
                  receives from rank 0 with tag 4";
    fishplate.run(&["predict", "run", "one=1000"]).fails_saying(&[wanted]);
}
