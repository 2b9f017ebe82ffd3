//! `fishplate testbed`: hosts and rails that vanish.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Installed, Ran};

#[test]
fn hosts_have_names_rails_and_a_shell() {
    let Some(fishplate) = Installed::with_testbed(&[]) else { return };
    let script = "hostname; $FISHPLATE_TESTBED_LAUNCH node2 'hostname; ip -brief address show r1'; exit 3";
    let ran = fishplate.run(&["testbed", "--hosts", "3", "--rails", "100,0", "--", "sh", "-c", script]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.out.starts_with("node0\nnode2\n") && ran.out.contains("10.77.1.3/24"), "{}", ran.out);
    let ran = fishplate.run(&["testbed", "--", "sh", "-c", "$FISHPLATE_TESTBED_LAUNCH elsewhere true"]);
    ran.fails_saying(&["no such host in this testbed: elsewhere"]);
    fishplate.run(&["testbed", "--", "no-such-program"]).fails_saying(&["command not found: no-such-program"]);
}

#[test]
fn its_rails_are_found_and_nothing_else() {
    let Some(fishplate) = Installed::with_testbed(&[]) else { return };
    let rails = rails(&fishplate, &[]);
    assert_eq!([&rails[0]["name"], &rails[1]["name"]], ["r0", "r1"]);
    assert_eq!((rails.len(), &rails[1]["peer"]["reachable"]), (2, &true.into()));
}

#[test]
fn hosts_with_one_port_have_a_rail_for_each_path() {
    let Some(fishplate) = Installed::with_testbed(&[]) else { return };
    let rails = rails(&fishplate, &["--port", "0"]);
    assert_eq!([&rails[0]["name"], &rails[1]["name"]], ["r0/10.77.0.1", "r0/10.77.1.1"]);
    assert_eq!([&rails[0]["gateway"], &rails[1]["gateway"]], ["10.77.0.254", "10.77.1.254"]);
    assert_eq!((rails.len(), &rails[1]["peer"]["reachable"]), (2, &true.into()));
}

/// The rails of the first host of a testbed, and what they have to do with the second one.
fn rails(fishplate: &Installed, options: &[&str]) -> Vec<serde_json::Value> {
    let program = fishplate.path("bin/fishplate");
    let show = ["--", program.to_str().unwrap(), "rails", "--json", "--peer", "10.77.1.2"];
    let ran = fishplate.run(&[&["testbed"], options, &show].concat());
    let rows: Vec<serde_json::Value> = serde_json::from_str(&ran.out).unwrap();
    rows.into_iter().filter(|row| row["rail"] == true).collect()
}

#[test]
fn rates_change_in_time() {
    let Some(fishplate) = Installed::with_testbed(&[]) else { return };
    let show = "tc class show dev r0; sleep 0.5; tc class show dev r0; ip link show r1";
    let schedule = "0.2s r0=50 r1=down";
    let mut command =
        fishplate.command(&["testbed", "--rails", "100,0", "--schedule", schedule, "--", "sh", "-c", show]);
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let ran = Ran::of(command.env("PATH", path).output().unwrap());
    let at = |text: &str| ran.out.find(text).unwrap_or_else(|| panic!("no {text} in {}{}", ran.out, ran.err));
    assert!(at("rate 100Mbit") < at("rate 50Mbit"));
    assert!(ran.out.contains("state DOWN"), "{}", ran.out);
    assert!(ran.err.contains("r0 50 Mbit/s"), "{}", ran.err);
}

#[test]
fn bursts_are_those_asked_for() {
    let Some(fishplate) = Installed::with_testbed(&[]) else { return };
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let bursts = |options: &[&str]| {
        let show =
            ["--rails", "1000", "--schedule", "0.1s r0=500", "--", "sh", "-c", "sleep 0.3; tc class show dev r0"];
        let ran = fishplate.run_with(("PATH", &path), &[&["testbed"], options, &show].concat());
        assert!(ran.out.contains("rate 500Mbit"), "{}{}", ran.out, ran.err);
        ran.out
    };
    assert!(bursts(&[]).contains("burst 12500b"));
    // As `tc` shows it, which counts bytes by the time that they take.
    assert!(bursts(&["--burst", "packet"]).contains("burst 20"));
}

#[test]
fn nothing_stays_behind() {
    let Some(fishplate) = Installed::with_testbed(&[]) else { return };
    // Short and without spaces, or testbeds would not take it (docs/guide/testbed.md).
    let temporary = tempfile::tempdir_in("/tmp").unwrap();
    let temporary = temporary.path();
    for signal in ["INT", "TERM", "KILL"] {
        let (mut child, marker) = start_sleeper(&fishplate, temporary, signal);
        let kill = std::process::Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
        assert!(kill.unwrap().success());
        child.wait().unwrap();
        await_absence(&marker);
        let left = fs::read_dir(temporary).unwrap().count();
        // After SIGKILL only a folder is left, which a later run removes once it has settled.
        assert_eq!(left, usize::from(signal == "KILL"), "after SIG{signal}");
    }
}

/// Starts a testbed on which two processes sleep, one on each host; returns once both do, with what names them.
fn start_sleeper(fishplate: &Installed, temporary: &std::path::Path, signal: &str) -> (Child, String) {
    let marker = format!("9{}.{}", std::process::id(), signal.bytes().map(u32::from).sum::<u32>());
    let script = format!("$FISHPLATE_TESTBED_LAUNCH node1 'sleep {marker}' & echo on; sleep {marker}");
    let mut command = fishplate.command(&["testbed", "--", "sh", "-c", &script]);
    let child = command.env("TMPDIR", temporary).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let limit = Instant::now() + Duration::from_secs(10);
    while sleepers(&marker) < 2 {
        assert!(Instant::now() < limit, "the testbed does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    (child, marker)
}

fn await_absence(marker: &str) {
    let limit = Instant::now() + Duration::from_secs(5);
    while sleepers(marker) > 0 {
        assert!(Instant::now() < limit, "processes are left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Number of processes `sleep MARKER`.
fn sleepers(marker: &str) -> usize {
    let wanted = format!("sleep\0{marker}\0");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|p| fs::read(p.path().join("cmdline")).is_ok_and(|line| line == wanted.as_bytes())).count()
}
