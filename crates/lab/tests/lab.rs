//! `fishplate lab`: up, changed, entered, killed, gone.

mod common;

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;

use common::{Installed, Ran};

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

    fn lab(&self, args: &[&str]) -> Ran {
        let args = [&["lab"], args].concat();
        Ran::of(self.fishplate.command(&args).env("XDG_RUNTIME_DIR", &self.runtime).output().unwrap())
    }

    /// Brings one up; false, with the reason, where the machine cannot.
    fn up(&self, args: &[&str]) -> bool {
        let ran = self.lab(&[&["up", "--unverified"], args].concat());
        if ran.code != Some(0) {
            eprintln!("skipped, no lab here: {}", ran.err);
        }
        ran.code == Some(0)
    }
}

impl Drop for Labs {
    fn drop(&mut self) {
        self.lab(&["down"]);
    }
}

#[test]
fn a_lab_is_entered_and_changed_and_goes() {
    let labs = Labs::new();
    if !labs.up(&["--delay", "1ms"]) {
        return;
    }
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
    assert_eq!(fs::read_dir(labs.runtime.join("fishplate-labs")).unwrap().count(), 0);
}

#[test]
fn mistakes_are_told() {
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
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    labs.lab(&["up"]).fails_saying(&["not a folder of this user alone"]);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
}
