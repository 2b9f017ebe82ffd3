//! `fishplate bench`: errors are reported before anything is built.

use std::fs;

use crate::common::{Installed, Ran};
use crate::records;

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
fn options_with_mistakes_and_records_that_cannot_be() {
    let fishplate = installed();
    fs::write(fishplate.path("old.jsonl"), "").unwrap();
    records::write(&fishplate.path("other.jsonl"), &[records::manifest(1)]);
    fishplate.fails_as_listed(include_str!("mistakes/bench.txt"));
}
