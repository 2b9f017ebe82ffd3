//! `fishplate lab`: up, changed, entered, killed, gone.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Installed, Ran};

/// A program whose labs are its own.
struct Labs {
    fishplate: Installed,
    runtime: PathBuf,
}

impl Labs {
    fn new() -> Labs {
        let fishplate = Installed::new();
        let runtime = fishplate.path("run");
        fs::DirBuilder::new().mode(0o700).create(&runtime).unwrap();
        Labs { fishplate, runtime }
    }

    /// With one that is up; nothing where the machine cannot.
    fn with(args: &[&str]) -> Option<Labs> {
        let labs = Labs::new();
        labs.up(args).then_some(labs)
    }

    fn lab(&self, args: &[&str]) -> Ran {
        let args = [&["lab"], args].concat();
        self.fishplate.run_with(("XDG_RUNTIME_DIR", &self.runtime), &args)
    }

    /// Starts a command in a lab, which ends when it is dropped.
    fn start(&self, args: &[&str]) -> Running {
        let args = [&["lab"], args].concat();
        let mut command = self.fishplate.command(&args);
        Running(
            command.env("XDG_RUNTIME_DIR", &self.runtime).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap(),
        )
    }

    fn program(&self) -> String {
        self.fishplate.path("bin/fishplate").to_str().unwrap().to_string()
    }

    /// Its processes with this word in their command lines.
    fn processes(&self, word: &str) -> Vec<i32> {
        processes(|line| line.contains(&self.program()) && line.contains(word))
    }

    /// Waits until a lab whose processes are gone is reported as killed. A process that ends has no command line any
    /// more before it closes its files, among which is the lab's lock.
    #[track_caller]
    fn await_killed(&self) {
        let told = ["lab lab was killed", "fishplate lab down lab"];
        await_that("it is reported", || told.iter().all(|words| self.lab(&["status"]).err.contains(words)));
    }

    /// Mean round trip from the first host to an address of the second, in microseconds.
    fn round_trip_us(&self, address: &str) -> f64 {
        let program = &self.program();
        let _reflector = self.start(&["exec", "node1", "--", program, "reflect-datagrams", address]);
        let ran = self.lab(&["exec", "--", program, "measure-round-trips", address, "0.3"]);
        let found: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
        found["mean_us"].as_f64().unwrap()
    }

    /// Brings one up; false, with the reason, where the machine cannot.
    fn up(&self, args: &[&str]) -> bool {
        let ran = self.lab(&[&["up", "--unverified"], args].concat());
        if ran.code != Some(0) {
            // Anything else is a mistake of the test or of the program.
            let lacks = ["namespaces", "iproute2", "kernel", "NFQUEUE", "/dev/net/tun"];
            assert!(lacks.iter().any(|lack| ran.err.contains(lack)), "{}", ran.err);
            eprintln!("skipped, no lab here: {}", ran.err);
        }
        ran.code == Some(0)
    }
}

/// A command that runs.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processes with such command lines, whose words end with a space each.
fn processes(fits: impl Fn(&str) -> bool) -> Vec<i32> {
    let found = fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        fits(&String::from_utf8_lossy(&line).replace('\0', " "))
    });
    found.filter_map(|process| process.file_name().to_str()?.parse().ok()).collect()
}

/// Number of processes `sleep MARKER`.
fn sleepers(marker: &str) -> usize {
    processes(|line| line == format!("sleep {marker} ")).len()
}

/// Waits until something is so.
#[track_caller]
fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < limit, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kill_9(process: i32) {
    assert!(std::process::Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success());
}

impl Drop for Labs {
    fn drop(&mut self) {
        self.lab(&["down"]);
    }
}

#[test]
fn a_lab_is_entered_and_changed_and_goes() {
    let Some(labs) = Labs::with(&["--delay", "1ms"]) else { return };
    let ran = labs.lab(&["exec", "node1", "--", "sh", "-c", "hostname; echo $FISHPLATE_TESTBED_RAILS; exit 7"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(7), "node1\nr0,r1\n"), "{}", ran.err);
    labs.lab(&["up"]).fails_saying(&["lab lab is up already", "fishplate lab down lab"]);
    labs.lab(&["exec", "node9", "--", "true"]).fails_saying(&["no host node9", "node0, node1"]);
    labs.lab(&["exec", "--", "no-such-program"]).fails_saying(&["command not found: no-such-program"]);
    labs.lab(&["set", "r9=1"]).fails_saying(&["no rail r9", "c0.r0"]);
    labs.lab(&["set", "r0=-5"]).fails_saying(&["\"r0=-5\"", "a rate is a whole number"]);
    assert_eq!(labs.lab(&["set", "r0=100,delay=5ms"]).code, Some(0));
    assert!(labs.lab(&["status"]).out.contains("100 Mbit/s, delay 5ms"));
    assert_eq!(labs.lab(&["down"]).code, Some(0));
    assert!(!labs.runtime.join("fishplate-labs").exists());
}

#[test]
fn mistakes_are_reported() {
    let labs = Labs::new();
    for command in [&["status"][..], &["down"], &["exec", "--", "true"], &["set", "r0=1"]] {
        labs.lab(command).fails_saying(&["no lab lab is up", "fishplate lab up"]);
    }
    labs.fishplate.run(&["lab", "set"]).fails_saying(&["--schedule"]);
    let file = labs.fishplate.path("lab.toml");
    fs::write(&file, "[[cluster]]\nname = \"a\"\nhosts = 2\nrails = [{ rate_mbit = -5 }]\n").unwrap();
    labs.lab(&["up", file.to_str().unwrap()]).fails_saying(&["lab.toml", "line 4", "a rate is a whole number"]);
    labs.lab(&["up", "no-such.toml"]).fails_saying(&["cannot read no-such.toml"]);
    labs.lab(&["up", "--name", "a/b"]).fails_saying(&["\"a/b\" is no name of a lab"]);
    labs.lab(&["up", "--delay", "1ms,2ms,3ms"]).fails_saying(&["--delay: 3 values for 2 rails"]);
    let folder = labs.runtime.join("fishplate-labs");
    assert!(!folder.exists(), "there is no lab");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    labs.lab(&["up"]).fails_saying(&["not a folder of this user alone"]);
}

#[test]
fn a_killed_daemon_leaves_nothing_and_is_reported() {
    let Some(labs) = Labs::with(&["--delay", "1ms"]) else { return };
    let marker = format!("91{}.5", std::process::id());
    let mut running = labs.start(&["exec", "node1", "--", "sleep", &marker]);
    await_that("exec runs its command", || sleepers(&marker) == 1);
    kill_9(labs.processes("lab-daemon")[0]);
    assert_ne!(running.0.wait().unwrap().code(), Some(0));
    await_that("all processes are gone", || sleepers(&marker) == 0 && labs.processes("").is_empty());
    labs.await_killed();
    assert!(labs.up(&["--rails", "0"]), "a killed lab is in the way");
    assert_eq!(labs.lab(&["down"]).code, Some(0));
    assert!(!labs.runtime.join("fishplate-labs").exists());
}

#[test]
fn a_killed_up_leaves_no_half_lab() {
    let Some(labs) = Labs::with(&["--name", "probe", "--rails", "0"]) else { return };
    assert_eq!(labs.lab(&["down", "probe"]).code, Some(0));
    // Many hosts take long, so that there is a half lab.
    let up = labs.start(&["up", "--hosts", "16", "--unverified"]);
    await_that("it has begun", || !labs.processes("hold-host").is_empty());
    drop(up);
    if labs.runtime.join("fishplate-labs/lab/control").exists() {
        // It was up already, and stays; the end of the test takes it down.
        return;
    }
    await_that("all processes are gone", || labs.processes("").is_empty());
    labs.await_killed();
}

#[test]
fn a_killed_exec_ends_its_command_alone() {
    let Some(labs) = Labs::with(&["--rails", "0"]) else { return };
    let marker = format!("92{}.5", std::process::id());
    let running = labs.start(&["exec", "--", "sleep", &marker]);
    await_that("exec runs its command", || sleepers(&marker) == 1);
    drop(running);
    await_that("its command is gone", || sleepers(&marker) == 0);
    assert_eq!(labs.lab(&["exec", "--", "true"]).code, Some(0));
}

#[test]
fn a_killed_emulator_is_reported() {
    let Some(labs) = Labs::with(&["--delay", "1ms"]) else { return };
    let emulators = labs.processes("emulate-links");
    assert_eq!(emulators.len(), 1);
    kill_9(emulators[0]);
    await_that("it is reported", || labs.lab(&["status"]).code != Some(0));
    labs.lab(&["status"]).fails_saying(&["its rails are cut", "start the lab again"]);
}

#[test]
fn a_schedule_is_kept_and_rails_get_delays_later() {
    let Some(labs) = Labs::with(&["--rails", "100,100"]) else { return };
    labs.lab(&["set", "--schedule", "soon r0=1"]).fails_saying(&["soon r0=1", "a schedule reads like"]);
    labs.lab(&["set", "--schedule", "1s r7=1"]).fails_saying(&["no rail r7"]);
    let ran = labs.lab(&["set", "--schedule", "0.1s r0=delay=20ms; 0.2s r1=down; 9000s r1=up"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "3 changes to come\n"), "{}", ran.err);
    await_that("two changes are made", || labs.lab(&["status"]).out.contains("1 changes to come"));
    let status = labs.lab(&["status"]).out;
    assert!(status.contains("100 Mbit/s, delay 20ms") && status.contains("down"), "{status}");
    assert!(labs.round_trip_us("10.77.0.2") >= 40_000.0);
}

#[test]
fn two_clusters_are_never_faster_than_asked() {
    let Some(labs) = Labs::with(&["--clusters", "2", "--rails", "0,0", "--wan", "100,100", "--delay", "5ms,10ms"])
    else {
        return;
    };
    assert!(labs.round_trip_us("10.77.0.2") >= 10_000.0);
    assert!(labs.round_trip_us("10.77.1.2") >= 20_000.0);
    labs.lab(&["set", "north.r0=5"]).fails_saying(&["no rail north.r0", "c0-c1.r0"]);
    assert_eq!(labs.lab(&["set", "c0-c1.r0=delay=15ms"]).code, Some(0));
    assert!(labs.round_trip_us("10.77.0.2") >= 30_000.0);
}

#[test]
fn all_packets_are_lost_without_an_emulator() {
    let Some(labs) = Labs::with(&["--rails", "100,100"]) else { return };
    assert_eq!(labs.lab(&["set", "r0=loss=1"]).code, Some(0));
    assert!(labs.processes("emulate-links").is_empty());
    let program = &labs.program();
    let reflector = labs.start(&["exec", "node1", "--", program, "reflect-datagrams", "10.77.0.2"]);
    let ran = labs.lab(&["exec", "--", program, "measure-round-trips", "10.77.0.2", "0.1"]);
    assert_ne!(ran.code, Some(0), "{}", ran.out);
    drop(reflector);
    assert_eq!(labs.lab(&["set", "r0=loss=0"]).code, Some(0));
    assert!(labs.round_trip_us("10.77.0.2") > 0.0);
    assert!(labs.processes("emulate-links").is_empty());
}

#[test]
fn connections_between_clusters_are_reset() {
    let Some(labs) = Labs::with(&["--clusters", "2", "--hosts", "2", "--rails", "0", "--wan", "100", "--delay", "1ms"])
    else {
        return;
    };
    let program = &labs.program();
    let receive = ["exec", "node2", "--", program, "receive-streams", "--warm-up", "0", "1000", "10.77.0.3"];
    let _receiver = labs.start(&receive);
    let receives = || !labs.processes("receive-streams --warm-up").is_empty();
    await_that("it listens", receives);
    let _sender = labs.start(&["exec", "node0", "--", program, "send-streams", "10.77.0.3"]);
    await_that("the connection is reset", || {
        assert_eq!(labs.lab(&["set", "r0=reset"]).code, Some(0));
        !receives()
    });
}

#[test]
fn without_rights_it_says_which() {
    let labs = Labs::new();
    let script = "echo 0 >/proc/sys/user/max_net_namespaces && echo limited && exec bin/fishplate lab up";
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script]).env("XDG_RUNTIME_DIR", &labs.runtime);
    let ran = Ran::of(command.current_dir(labs.fishplate.path("")).output().unwrap());
    if ran.out != "limited\n" {
        eprintln!("skipped, rights cannot be taken away here: {}", ran.err);
        return;
    }
    ran.fails_saying(&["this system does not let this user make namespaces", "user.max_net_namespaces is 0"]);
    assert!(!labs.runtime.join("fishplate-labs").exists());
}
