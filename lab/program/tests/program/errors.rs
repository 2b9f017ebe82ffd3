//! Every error that a user can cause has a clear message.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::{Installed, Ran};
use crate::script;

#[test]
fn settings_with_wrong_values() {
    let fishplate = Installed::new();
    for (option, variable, allowed) in [
        ("--striping", "FISHPLATE_STRIPING", "earliest"),
        ("--multiplexing", "FISHPLATE_MULTIPLEXING", "round-robin"),
        ("--collectives", "FISHPLATE_COLLECTIVES", "cluster, native"),
        ("--streams", "FISHPLATE_STREAMS", "1 to 16, auto"),
        ("--encryption", "FISHPLATE_ENCRYPTION", "on, off"),
        ("--checksum", "FISHPLATE_CHECKSUM", "on, off"),
        ("--secret-file", "FISHPLATE_SECRET_FILE", "it cannot be read: No such file"),
    ] {
        for command in ["run", "env"] {
            let mut args = vec![command, option, "nonsense"];
            args.extend(["--", "true"].iter().filter(|_| command == "run"));
            fishplate.run(&args).fails_saying(&[option, variable, "\"nonsense\"", allowed]);
        }
        let ran = fishplate.run_with((variable, "nonsense"), &["run", "--", "true"]);
        ran.fails_saying(&[variable, "\"nonsense\"", allowed]);
    }
    for command in [&["run", "--", "true"][..], &["env"], &["rails"]] {
        let ran = fishplate.run_with(("FISHPLATE_PORTS", "50100-50000"), command);
        ran.fails_saying(&["FISHPLATE_PORTS", "\"50100-50000\"", "FIRST-LAST", "1024 to 65535"]);
    }
    fishplate.run(&["run", "--rails", "a,,b", "--", "true"]).fails_saying(&["--rails", "FISHPLATE_RAILS", "a,,b"]);
    fishplate.run(&["run", "--stats", "/no/folder/x", "--", "true"]).fails_saying(&["--stats", "/no/folder/x"]);
}

#[test]
fn a_folder_whose_name_variables_cannot_hold() {
    let fishplate = Installed::new();
    let folder = fishplate.path("a b");
    for file in ["bin/fishplate", "lib/fishplate/libfishplate-fi.so"] {
        fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
        fs::hard_link(fishplate.path(file), folder.join(file)).unwrap();
    }
    let run = |cache: &str| {
        let mut command = Command::new(folder.join("bin/fishplate"));
        Ran::of(command.args(["run", "--", "true"]).env("FISHPLATE_CACHE", fishplate.path(cache)).output().unwrap())
    };
    // A link is made in the cache folder, if that has a name that will do.
    assert_eq!(run("cache").code, Some(0));
    run("c d").fails_saying(&["a b/lib/fishplate", "LD_PRELOAD and FI_PROVIDER_PATH cannot hold", "move them"]);
}

#[test]
fn unknown_rails() {
    let fishplate = Installed::new();
    fishplate.run_with(("FISHPLATE_RAILS", "no-such0"), &["rails"]).fails_saying(&["no-such0", "there are", "lo"]);
    // Other hosts may have it, so this only warns.
    let ran = fishplate.run(&["run", "--rails", "no-such0", "--", "true"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("on this host") && ran.err.contains("no-such0"), "{}", ran.err);
    fishplate.run(&["rails", "--peer", "nonsense"]).fails_saying(&["nonsense", "--peer"]);
}

#[test]
fn hosts_that_the_doctor_cannot_look_at() {
    let fishplate = Installed::new();
    fishplate.run(&["doctor", "a b"]).fails_saying(&["\"a b\" is no host", "names and addresses"]);
    fishplate.run(&["doctor", "--", "-oProxyCommand=x"]).fails_saying(&["\"-oProxyCommand=x\" is no host"]);
    fishplate.run(&["doctor", "--remote-shell", " ", "a"]).fails_saying(&["--remote-shell", "a host and a line"]);
    fishplate.run(&["doctor", "--mpi", "lam"]).fails_saying(&["no stack \"lam\""]);
    let found = |shell: &str| {
        let mut command = fishplate.command(&["doctor", "--remote-shell", shell, "a"]);
        let ran = Ran::of(command.env_remove("HOME").output().unwrap());
        assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
        ran.out
    };
    let missing = found("no-such-shell");
    assert!(missing.contains("command not found: no-such-shell") && missing.contains("--remote-shell"), "{missing}");
    // Machines without Fishplate, with another one, and with nothing to say.
    for (name, text, said) in [
        ("bare", "echo 'fishplate-doctor absent'", "Fishplate is not installed there"),
        ("old", "echo 'fishplate-doctor is fishplate 0.1.0'; echo unrecognized >&2", "\"fishplate 0.1.0\" there"),
        ("mute", "exit 3", "it ends without a word"),
    ] {
        let shell = fishplate.path(name);
        script::script(&shell, &format!("#!/bin/sh\n{text}\n"));
        let out = found(shell.to_str().unwrap());
        assert!(out.contains(said), "{name}: {out}");
    }
}

#[test]
fn commands_that_cannot_run() {
    let fishplate = Installed::new();
    fishplate.run(&["run", "--", "no-such-program"]).fails_saying(&["command not found: no-such-program"]);
    let file = fishplate.path("not-executable");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fishplate.run(&["run", "--", "./not-executable"]).fails_saying(&["cannot run", "permission denied"]);
    fishplate.run(&["run"]).fails_saying(&["COMMAND"]);
    fishplate
        .run_with(("PATH", "/nowhere"), &["run", "--", "mpiexec", "-n", "2", "true"])
        .fails_saying(&["mpiexec", "fishplate setup"]);
    fs::write(fishplate.path("lib/fishplate/libfishplate-mpi.so"), "").unwrap();
    fishplate.run_with(("PATH", "/nowhere"), &["profile", "--", "mpiexec", "-n", "2", "true"]).fails_saying(&[
        "mpiexec",
        "fishplate setup",
        "fishplate profile --mpi mpich",
    ]);
}

#[test]
fn missing_parts() {
    let fishplate = Installed::without_provider();
    fishplate.run(&["run", "--", "true"]).fails_saying(&["libfishplate-fi.so", "make"]);
    fishplate.run(&["env"]).fails_saying(&["libfishplate-fi.so", "make"]);
    let fishplate = Installed::new();
    let empty = fishplate.path("cache");
    for args in [&["run", "--mpi", "mpich", "--", "true"][..], &["setup", "--where", "mpich"]] {
        let ran = fishplate.run_with(("FISHPLATE_CACHE", &empty), args);
        ran.fails_saying(&["mpich is not set up", "fishplate setup --stack mpich"]);
    }
    fishplate.run(&["run", "--mpi", "lam", "--", "true"]).fails_saying(&["lam", "mpich", "openmpi"]);
    fishplate.run(&["demo"]).fails_saying(&["latency", "make bench"]);
}

#[test]
fn stacks_that_cannot_be_used() {
    let fishplate = Installed::new();
    let file = fishplate.path("my.toml");
    let stacks = |text: &str, name: &str| {
        fs::write(&file, text).unwrap();
        fishplate.run_with(("FISHPLATE_CACHE", fishplate.path("empty")), &["stacks", "--stacks", "my.toml", name])
    };
    stacks("[a]\nlauncher = \"srun\"\n", "lam").fails_saying(&["no stack \"lam\"", "mpich-tcp", "openmpi-tcp"]);
    stacks("[a]\n\nlaunch = 1\n", "a").fails_saying(&["my.toml, line 3", "launch"]);
    stacks("[a]\n", "a").fails_saying(&["stack a", "`launcher` is missing", "hydra"]);
    stacks("[a]\nlike = \"mpich-tcp\"\npath = \"/none\"\n", "a").fails_saying(&["/none/bin/mpiexec is missing"]);
    stacks("[a]\nwheels = \"lam\"\n", "a").fails_saying(&["stack a", "no \"lam\"", "impi, mpich, openmpi"]);
    stacks("[a]\nlike = \"openmpi-tcp\"\nwheels = \"openmpi\"\n", "a")
        .fails_saying(&["openmpi is not set up", "fishplate setup --stack openmpi"]);
    fishplate.run(&["stacks", "--stacks", "no-such.toml"]).fails_saying(&["cannot read no-such.toml"]);
    fishplate
        .run(&["run", "--mpi", "mpich-tcp", "--", "true"])
        .fails_saying(&["does not use Fishplate", "fishplate-mpich"]);
}

#[test]
fn setup_without_what_it_needs() {
    let fishplate = Installed::new();
    let setup = |args: &[&str], cache: &str| {
        let mut all = vec!["setup"];
        all.extend(args);
        fishplate.run_with(("FISHPLATE_CACHE", cache), &all)
    };
    let cache = fishplate.path("cache").to_str().unwrap().to_string();
    setup(&["--python", "no-such-python"], &cache).fails_saying(&["no-such-python was not found", "--python"]);
    setup(&["--stack", "lam"], &cache).fails_saying(&["lam", "mpich"]);
    fs::write(fishplate.path("file"), "").unwrap();
    let under_a_file = fishplate.path("file/cache").to_str().unwrap().to_string();
    setup(&[], &under_a_file).fails_saying(&["cannot make the folder", "file/cache"]);

    let mut homeless = fishplate.command(&["setup"]);
    homeless.env_remove("HOME").env_remove("XDG_CACHE_HOME");
    Ran::of(homeless.output().unwrap()).fails_saying(&["FISHPLATE_CACHE"]);

    // A Python that is too old, and one without venv, as Debian has it.
    for (name, text, said) in [
        ("old", "#!/bin/sh\nexit 1\n", "older than 3.10"),
        ("bare", "#!/bin/sh\ncase \"$3\" in *venv*) exit 1;; esac\n", "python3-venv"),
    ] {
        let python = fishplate.path(name);
        script::script(&python, text);
        setup(&["--python", python.to_str().unwrap()], &cache).fails_saying(&[said]);
    }
}

#[test]
fn testbeds_that_cannot_be() {
    let fishplate = Installed::new();
    fishplate.fails_as_listed(include_str!("mistakes/testbed.txt"));
    fishplate.run(&["testbed", "--schedule", "1s r5=10", "--", "true"]).fails_saying(&["r5", "r0,r1"]);
    let mut toolless = fishplate.command(&["testbed", "--", "true"]);
    if !["/usr/sbin/tc", "/sbin/tc"].iter().any(|path| std::path::Path::new(path).exists()) {
        Ran::of(toolless.env("PATH", "/nowhere").output().unwrap()).fails_saying(&["iproute2"]);
    }
}

#[test]
fn a_page_that_cannot_be_made() {
    let fishplate = Installed::new();
    fishplate.run(&["demo", "--from", "no-such.json"]).fails_saying(&["no-such.json"]);
    fs::write(fishplate.path("bad.json"), "{}").unwrap();
    fishplate.run(&["demo", "--from", "bad.json"]).fails_saying(&["bad.json"]);
    let results = r#"{"schema": "fishplate-demo/1", "conditions": {"date": "", "facts": [], "rounds": 1}, "rails": [],
        "sum": [150.0], "stacks": [], "shares": []}"#;
    fs::write(fishplate.path("demo.json"), results).unwrap();
    let show = |picture| fishplate.run(&["demo", "--from", "demo.json", "--picture", picture]);
    show("no-such-folder/demo.svg").fails_saying(&["cannot write no-such-folder/demo.svg"]);
    assert_eq!(show("demo.svg").code, Some(0));
    for picture in ["demo.svg", "demo-dark.svg"] {
        assert!(fs::read_to_string(fishplate.path(picture)).unwrap().starts_with("<svg "), "{picture}");
    }
}

#[test]
fn profiles_that_cannot_be() {
    let fishplate = Installed::new();
    fishplate.run(&["profile", "--", "true"]).fails_saying(&[
        "libfishplate-mpi.so is not in",
        "lib/fishplate",
        "`make`",
    ]);
    fs::write(fishplate.path("lib/fishplate/libfishplate-mpi.so"), "").unwrap();
    fs::write(fishplate.path("bad.json"), "{}").unwrap();
    fs::write(fishplate.path("new.json"), r#"{"schema":"fishplate-profile/9"}"#).unwrap();
    fs::create_dir(fishplate.path("left.ranks")).unwrap();
    fishplate.fails_as_listed(include_str!("mistakes/profile.txt"));
    assert!(!fishplate.path("profile.ranks").exists());
    fs::write(fishplate.path("left.json"), "").unwrap();
    fishplate.run(&["profile", "--read", "left.ranks"]).fails_saying(&["left.json is there already", "--output"]);
}

#[test]
fn ways_of_simulated_collectives_and_files() {
    Installed::new().fails_as_listed(include_str!("mistakes/simulate.txt"));
}
