//! `fishplate rpi`, with a launcher and ranks' files that are made up.

use std::fs;

use crate::common::{Installed, Ran};
use crate::preload;
use crate::rank_files::RankFile;
use crate::script;
use fishplate_profile::rank_file::{event, header};

const MS: u64 = 1_000_000;
const RANKS: usize = 2;
/// Stands for a launcher and its program: copies what the ranks of this run have "recorded".
const LAUNCHER: &str = "#!/bin/sh
for program; do :; done
[ \"$program\" = fails-on-two ] && [ \"$RAILS\" = eth0,eth1 ] && { echo 'no such peer' >&2; exit 7; }
[ \"$program\" = no-mpi ] && exit 0
run=$(ls runs-$RAILS-* 2>/dev/null | wc -l)
: > runs-$RAILS-$run
cp files/$RAILS/$run/* \"$FISHPLATE_PROFILE\"
";

/// The program, with a stack `fake`, and what it records: of each network the time in MPI of each run, in milliseconds;
/// besides, ranks compute for 500 ms and rank 1 waits for rank 0 for 100.
fn installed(networks: [(&str, [u64; 2]); 3]) -> Installed {
    let fishplate = Installed::new();
    preload::preload(&fishplate);
    fs::create_dir_all(fishplate.path("mpi/bin")).unwrap();
    script::script(&fishplate.path("mpi/bin/mpiexec"), LAUNCHER);
    let path = fishplate.path("mpi");
    let stack = format!(
        "[fake]\nlauncher = \"hydra\"\npath = \"{}\"\nenvironment = {{ RAILS = \"{{rails}}\" }}\n",
        path.display()
    );
    fs::write(fishplate.path("fake.toml"), stack).unwrap();
    for (rails, times) in networks {
        for (run, in_mpi_ms) in times.into_iter().enumerate() {
            let folder = fishplate.path(&format!("files/{rails}/{run}"));
            fs::create_dir_all(&folder).unwrap();
            for rank in 0..RANKS {
                let file = RankFile::new(rank, RANKS).with(header::LAST, (5500 + in_mpi_ms) * MS);
                let file = match rank {
                    0 => file.calls("MPI_Send", 1, in_mpi_ms * MS, 8, 0x401000).event(
                        event::SEND,
                        "MPI_Send",
                        1,
                        [200, 200, 200],
                    ),
                    _ => file.calls("MPI_Recv", 1, in_mpi_ms * MS, 0, 0x402000).event(
                        event::RECEIVE,
                        "MPI_Recv",
                        1,
                        [100, 100, 100 + in_mpi_ms],
                    ),
                };
                file.write(&folder, 10);
            }
        }
    }
    fishplate
}

fn three() -> Installed {
    installed([("eth0", [800, 820]), ("eth0,eth1", [500, 524]), ("eth2", [200, 216])])
}

/// Runs `program` on three networks of two hosts.
fn rpi(fishplate: &Installed, options: &[&str], program: &str) -> Ran {
    let networks = ["--hosts", "a,b", "--networks", "one=eth0,two=eth0+eth1,fast=eth2"];
    let stack = ["--stack-file", "fake.toml", "--stacks", "fake", "--ranks", "2", "--repeats", "2"];
    fishplate.run(&[&["rpi"], &networks[..], &stack, options, &["--", program]].concat())
}

#[test]
fn a_table_a_record_and_a_page() {
    let fishplate = three();
    let ran = rpi(&fishplate, &[], "CG.B.x").succeeds();
    // In turn, and back in the second round.
    let order: Vec<&str> = ran.err.lines().filter_map(|line| line.split_once(", run ").map(|(name, _)| name)).collect();
    assert_eq!(order, ["one", "two", "fast", "fast", "two", "one"], "{}", ran.err);
    let rows: Vec<Vec<&str>> = ran.out.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = |name: &str| rows.iter().find(|row| row.first() == Some(&name)).cloned().unwrap_or_default();
    assert_eq!(row("one"), ["one", "1.31", "0.810", "0.810", "0.050", "0.500", "0.600", "base", "base"]);
    assert_eq!(row("fast"), ["fast", "0.708", "0.208", "0.208", "0.050", "0.500", "0.600", "best", "best"]);
    // (300 + 296) / (600 + 604).
    assert_eq!(row("two")[7..9], ["50", "%"], "{}", ran.out);
    ran.shows(&[
        "CG.B.x: 2 ranks, 2 runs on each of 3 networks",
        "two: eth0 + eth1, fake",
        "two has 50 % (",
        "of the gain of fast over one, by the communication time",
        "with an infinitely fast network it would take 0.500 s, 71 % of the run time on fast",
        "it would take 0.600 s, 85 % of the run time on fast",
        "published for a program of this name: about 55 %",
    ]);
    let page = fs::read_to_string(fishplate.path("rpi.html")).unwrap();
    assert!(page.contains("RPI of two") && page.contains("infinitely fast network: 0.500 s"));
    // The record gives equal output, and is one like others.
    let again = fishplate.run(&["rpi", "--read", "rpi.jsonl", "--output", "again.html"]);
    let told = |ran: &Ran| ran.out.split("\nrecord: ").next().unwrap().to_string();
    assert_eq!(told(&again), told(&ran));
    assert_eq!(fs::read_to_string(fishplate.path("again.html")).unwrap(), page);
    let report = fishplate.run(&["report", "rpi.jsonl", "--csv", "-"]);
    assert!(report.out.contains("communication_time"), "{}{}", report.out, report.err);
    assert!(!fishplate.path("rpi.jsonl.running").exists());
    rpi(&fishplate, &[], "app").fails_saying(&["rpi.jsonl exists already", "--read", "--record"]);
}

#[test]
fn a_program_that_fails_on_one_network() {
    let ran = rpi(&three(), &[], "fails-on-two").ends_with(3);
    assert!(
        ran.err.contains("two, run 1 of 2: failed: fails-on-two ended with exit code 7: no such peer"),
        "{}",
        ran.err
    );
    ran.shows(&[
        "two, by the communication time: no RPI: no round has a run on each of one, two and fast",
        "! two, run 1: fails-on-two ended with exit code 7: no such peer",
        "with an infinitely fast network it would take 0.500 s",
    ]);
}

#[test]
fn a_program_that_is_no_mpi_program() {
    let ran = rpi(&three(), &[], "no-mpi").ends_with(3);
    assert!(ran.err.contains("one, run 1 of 2: failed: no process called MPI"), "{}", ran.err);
    ran.shows(&["no run on fast is complete"]);
}

#[test]
fn ranks_that_left_nothing() {
    let fishplate = three();
    for run in 0..2 {
        fs::remove_file(fishplate.path(&format!("files/eth2/{run}/node0.100.rank"))).unwrap();
    }
    let ran = rpi(&fishplate, &[], "app");
    assert!(ran.err.contains("fast, run 1 of 2: failed: rank 0 of 2 left nothing"), "{}", ran.err);
}

#[test]
fn ranks_that_do_not_call_finalize_count_until_they_were_last_seen() {
    let fishplate = three();
    for run in 0..2 {
        let folder = fishplate.path(&format!("files/eth2/{run}"));
        RankFile::new(0, RANKS).sent(1, 1, 8).stuck_in("MPI_Recv", 300, 0x403000).write(&folder, 40);
    }
    let ran = rpi(&fishplate, &[], "app").succeeds();
    ran.shows(&["two has "]);
}

#[test]
fn networks_without_a_difference() {
    let ran =
        rpi(&installed([("eth0", [300, 320]), ("eth0,eth1", [300, 310]), ("eth2", [310, 330])]), &[], "app").succeeds();
    let part = "no RPI: the communication time on fast is 0.010 s above that on one";
    ran.shows(&[part]);
    let ran = rpi(&installed([("eth0", [300, 400]), ("eth0,eth1", [300, 310]), ("eth2", [310, 330])]), &[], "app");
    ran.shows(&["which is not significant at 95 %"]);
}

#[test]
fn options_with_mistakes() {
    let fishplate = three();
    fs::write(fishplate.path("other.jsonl"), "{}\n").unwrap();
    fishplate.fails_as_listed(include_str!("mistakes/rpi.txt"));
    fs::remove_file(fishplate.path("lib/fishplate/libfishplate-mpi.so")).unwrap();
    let fake = ["rpi", "--stack-file", "fake.toml", "--stacks", "fake", "--networks", "a=1,b=2,c=3", "--", "app"];
    fishplate.run(&fake).fails_saying(&["libfishplate-mpi.so is not in", "`make`"]);
}
