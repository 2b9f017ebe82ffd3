//! `fishplate bench`: errors are reported before anything is built.

use std::fs;

use crate::common::{Installed, Ran};

const PLAN: &str = "stacks = [\"mpich-tcp\"]\n[[links]]\nname = \"lan\"\nrails = [{ rate_mbit = 100 }]\n\
                    [[benchmarks]]\nprogram = \"latency\"\n";

/// The program with sources of benchmarks beside it, as far as it looks.
fn installed() -> Installed {
    let fishplate = Installed::new();
    fs::create_dir_all(fishplate.path("bench/programs")).unwrap();
    fs::write(fishplate.path("bench/Makefile"), "").unwrap();
    fs::write(fishplate.path("bench/programs/latency.c"), "").unwrap();
    fishplate
}

fn with_plan(plan: &str) -> Ran {
    let fishplate = installed();
    fs::write(fishplate.path("plan.toml"), plan).unwrap();
    fishplate.run(&["bench", "plan.toml"])
}

#[test]
fn plans_with_mistakes() {
    with_plan(&PLAN.replace("100", "-100")).fails_saying(&["plan.toml, line 4", "Mbit/s"]);
    with_plan(&PLAN.replace("latency", "lat")).fails_saying(&["plan.toml, line 6", "no benchmark program \"lat\""]);
    with_plan(&PLAN.replace("[[links]]", "[links")).fails_saying(&["plan.toml, line 2"]);
    with_plan(&PLAN.replace("program", "programme")).fails_saying(&["plan.toml, line", "programme"]);
    with_plan(&PLAN.replace("mpich-tcp", "lam")).fails_saying(&["plan.toml", "no stack \"lam\"", "openmpi-tcp"]);
    with_plan(&PLAN.replace("100 }", "100, loss = 2.0 }")).fails_saying(&["link lan", "loss"]);
    with_plan(&PLAN.replace("100 }", "100, burst = 'frame' }")).fails_saying(&[
        "plan.toml, line",
        "frame",
        "`default` or `packet`",
    ]);
    with_plan(&PLAN.replace("100 }", "100, delay = '1ms', burst = 'packet' }")).fails_saying(&[
        "link lan",
        "`burst`",
        "all rails have rates alone",
    ]);
}

#[test]
fn options_with_mistakes() {
    let fishplate = installed();
    let bench = |args: &[&str]| fishplate.run(&[&["bench"], args].concat());
    bench(&["no-such.toml"]).fails_saying(&["cannot read the plan no-such.toml", "everything"]);
    bench(&["/dev/null"]).fails_saying(&["/dev/null is not a regular file"]);
    bench(&["--stacks", "lam"]).fails_saying(&["no stack \"lam\"", "mpich-tcp"]);
    bench(&["--benchmarks", "lat"]).fails_saying(&["--benchmarks", "no benchmark program \"lat\"", "latency"]);
    bench(&["everything", "--benchmarks", "latenc1"]).fails_saying(&["the plan has", "displaced_ring"]);
    bench(&["everything", "--links", "wan"]).fails_saying(&["no link \"wan\" in the plan", "lan"]);
    bench(&["--links", "lan"]).fails_saying(&["--links", "NAME=RATE"]);
    bench(&["--links", "lan=-5"]).fails_saying(&["--links", "lan=-5", "Mbit/s"]);
    bench(&["--rounds", "0"]).fails_saying(&["`rounds`", "1 to 1000"]);
    bench(&["--rails", "eth0"]).fails_saying(&["--rails", "--hosts"]);
    bench(&["--hosts", "a"]).fails_saying(&["at least 2 hosts"]);
    bench(&["--hosts", "slurm"]).fails_saying(&["no Slurm job", "salloc"]);
    bench(&["--hostfile", "no-such"]).fails_saying(&["cannot read the hosts in no-such"]);
    bench(&["--sources", "nowhere"]).fails_saying(&["nowhere", "sources"]);
    bench(&["--stack-file", "no-such.toml"]).fails_saying(&["cannot read no-such.toml"]);
}

#[test]
fn records_that_cannot_be() {
    let fishplate = installed();
    fs::write(fishplate.path("old.jsonl"), "").unwrap();
    fishplate
        .run(&["bench", "--record", "old.jsonl"])
        .fails_saying(&["old.jsonl exists already", "--resume old.jsonl"]);
    fishplate.run(&["bench", "--record", "no/where.jsonl"]).fails_saying(&["no/where.jsonl", "folder"]);
    fishplate.run(&["bench", "--resume", "none.jsonl"]).fails_saying(&["cannot read the record none.jsonl"]);
    fishplate.run(&["bench", "--resume", "old.jsonl"]).fails_saying(&["old.jsonl: not a record"]);
    let manifest = common_record();
    fs::write(fishplate.path("other.jsonl"), manifest).unwrap();
    fishplate.run(&["bench", "--resume", "other.jsonl"]).fails_saying(&["not written by `fishplate bench`"]);
}

fn common_record() -> String {
    let manifest = serde_json::json!({
        "kind": "manifest", "schema": "fishplate-record/1", "fishplate": "0.1.0", "started": "2026-01-02T03:04:05Z",
        "machine": {"cpu": "", "cores": 1, "memory_bytes": 0, "kernel": "", "hostname": ""}, "load": 0.0,
        "stacks": [], "links": [], "benchmarks": [], "rounds": 1,
    });
    format!("{manifest}\n")
}
