//! `fishplate run` and `fishplate env`.

use std::os::unix::fs::symlink;

use crate::common;
use crate::common::Installed;
use crate::preload;
use crate::script;

#[test]
fn the_environment_reaches_the_command_and_its_exit_code_comes_back() {
    let fishplate = Installed::new();
    let script = "printf '%s|' \"$FI_PROVIDER\" \"$FI_PROVIDER_PATH\" \"$FISHPLATE_RAILS\" \"$OMPI_MCA_mtl\"; exit 7";
    let ran = fishplate.run(&["run", "--rails", "lo", "--", "sh", "-c", script]);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    let library = fishplate.path("lib/fishplate");
    assert_eq!(ran.out, format!("fishplate|{}|lo|ofi|", library.display()));
}

#[test]
fn a_provider_path_of_the_user_stays() {
    let fishplate = Installed::new();
    let mut command = fishplate.command(&["env"]);
    let output = command.env("FI_PROVIDER_PATH", "/other").output().unwrap();
    let expected = format!("export FI_PROVIDER_PATH='{}:/other'", fishplate.path("lib/fishplate").display());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&expected), "{text}");
}

/// The environment with a variable that is set before.
fn env(variable: Option<(&str, &str)>) -> String {
    let output = Installed::new().command(&["env"]).envs(variable).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn registrations_are_not_kept_unless_the_user_says_how() {
    assert!(env(None).contains("export FI_MR_CACHE_MAX_COUNT='0'\n"), "{}", env(None));
    let text = env(Some(("FI_MR_CACHE_MONITOR", "userfaultfd")));
    assert!(!text.contains("FI_MR_CACHE_MAX_COUNT"), "{text}");
}

#[test]
fn open_mpi_s_one_sided_operations_take_libfabric_unless_the_user_chooses() {
    let says = |text: &str, line: &str| text.contains(&format!("export OMPI_MCA_osc{line}\n"));
    let text = env(None);
    assert!(says(&text, "='^ucx'") && says(&text, "_rdma_btls='ofi'"), "{text}");
    let text = env(Some(("OMPI_MCA_osc", "pt2pt")));
    assert!(!text.contains("OMPI_MCA_osc=") && says(&text, "_rdma_btls='ofi'"), "{text}");
}

#[test]
fn the_provider_is_found_where_wheels_have_it() {
    let fishplate = Installed::new();
    std::fs::create_dir_all(fishplate.path("share/fishplate")).unwrap();
    std::fs::rename(fishplate.path("lib/fishplate"), fishplate.path("share/fishplate/lib")).unwrap();
    let ran = fishplate.run(&["env"]);
    let expected = format!("export FI_PROVIDER_PATH='{}'", fishplate.path("share/fishplate/lib").display());
    assert!(ran.out.contains(&expected), "{}{}", ran.out, ran.err);
}

#[test]
fn every_format_says_the_same() {
    let fishplate = Installed::new();
    let file = fishplate.path("lib/fishplate").display().to_string();
    let env = |format: &str, stats: &str| {
        let ran = fishplate.run(&["env", "--rails", "r0,r1", "--stats", stats, "--format", format]).succeeds();
        ran.out
    };
    let json: serde_json::Value = serde_json::from_str(&env("json", "/a b's")).unwrap();
    for (name, value) in [("FI_PROVIDER_PATH", &*file), ("FISHPLATE_RAILS", "r0,r1"), ("FISHPLATE_STATS", "/a b's")] {
        assert_eq!(json[name], value, "{json}");
    }
    for (format, stats, line) in [
        ("sh", "/a b's", r"export FISHPLATE_STATS='/a b'\''s'"),
        ("csh", "/a b's", r"setenv FISHPLATE_STATS '/a b'\''s';"),
        ("fish", "/a b's", r"set -gx FISHPLATE_STATS '/a b\'s'"),
        ("modulefile", "/a $b", r#"setenv FISHPLATE_STATS "/a \$b""#),
        ("modulefile", "/a b", &format!("prepend-path FI_PROVIDER_PATH \"{file}\"")),
    ] {
        let text = env(format, stats);
        assert!(text.lines().any(|found| found == line), "no {line} in {text}");
    }
    let slurm = env("slurm", "/a b");
    assert!(slurm.starts_with(&format!("ALL,FI_PROVIDER_PATH={file},FI_PROVIDER=fishplate,")), "{slurm}");
    assert!(slurm.contains(",'FISHPLATE_RAILS=r0,r1',") && slurm.contains(",FISHPLATE_STATS=/a b,"), "{slurm}");
    fishplate.run(&["env", "--stats", "/it's", "--format", "slurm"]).fails_saying(&[
        "FISHPLATE_STATS",
        "/it's",
        "eval",
    ]);
    fishplate.run(&["env", "--format", "perl"]).fails_saying(&["perl", "sh, csh, fish, json, modulefile, slurm"]);
}

#[test]
fn signals_are_passed_on() {
    let fishplate = Installed::new();
    let script = "trap 'exit 5' TERM; kill -TERM $PPID; while :; do sleep 0.05; done";
    let ran = fishplate.run(&["run", "--", "sh", "-c", script]);
    assert_eq!(ran.code, Some(143), "{}", ran.err);
    let ran = fishplate.run(&["run", "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(ran.code, Some(137), "{}", ran.err);
}

#[test]
fn a_wrong_setting_stops_it_before_the_command_starts() {
    let fishplate = Installed::new();
    fishplate.run(&["run", "--streams", "0", "--", "touch", "started"]).fails_saying(&["--streams", "1 to 16"]);
    assert!(!fishplate.path("started").exists());
}

#[test]
fn counters_become_a_table() {
    let fishplate = Installed::new();
    let line = |rail: &str, bytes: u64| {
        format!(
            r#"{{"schema":"fishplate-stats/1","host":"h","pid":1,"rank":0,"rail":"{rail}","address":"10.0.0.1","streams":1,"peers":1,"tx_bytes":{bytes},"tx_messages":10,"rx_bytes":0,"rx_messages":0,"retransmitted_segments":2,"min_rtt_us":81.0,"rtt_us":20480.0,"seconds":2.0}}"#
        )
    };
    let script =
        format!("printf '%s\\n' '{}' '{}' >> \"$FISHPLATE_STATS\"", line("r0", 8_000_000), line("r1", 2_000_000));
    let ran = fishplate.run(&["run", "--", "sh", "-c", &script]).succeeds();
    for part in ["r0", "8.00 MB", "80.0 %", "4.00 MB/s", "20.0 %", "20.5 ms", "81.0 us", "1 process on 1 host"] {
        assert!(ran.err.contains(part), "no \"{part}\" in {}", ran.err);
    }
    // A file of the user's own is kept, and earlier lines in it do not count.
    let file = fishplate.path("stats.jsonl");
    std::fs::write(&file, line("old", 5) + "\n").unwrap();
    let ran = fishplate.run(&["run", "--stats", "stats.jsonl", "--", "sh", "-c", &script]);
    assert!(ran.err.contains("r1") && !ran.err.contains("old"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 3);
}

#[test]
fn a_program_that_did_not_use_it_is_reported() {
    let fishplate = Installed::new();
    let ran = fishplate.run(&["run", "--", "true"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("no process of this program used Fishplate: "), "{}", ran.err);
    assert!(ran.err.contains("no check explains it explains it") || ran.err.contains("native"), "{}", ran.err);
    // What failed has its own message.
    assert_eq!(fishplate.run(&["run", "--", "false"]).err, "");
}

#[test]
fn a_command_starts_with_no_signal_blocked() {
    let fishplate = Installed::new();
    let ran = fishplate.run(&["run", "--", "grep", "SigBlk", "/proc/self/status"]);
    assert_eq!(ran.out, "SigBlk:\t0000000000000000\n", "{}", ran.err);
}

#[test]
fn the_help_lists_every_variable() {
    let fishplate = Installed::new();
    let help = fishplate.run(&["env", "--help"]).out;
    for variable in fishplate_rails::settings::VARIABLES {
        assert!(help.contains(variable.name), "{}", variable.name);
    }
}

#[test]
fn open_mpi_s_options_for_variables_keep_working() {
    let fishplate = Installed::new();
    // Tells what it is, as the real ones do, and what it is started with.
    let launcher = |name: &str, version: &str| {
        let told =
            format!("[ \"$1\" = --version ] && echo '{version}' && exit\necho \"$* list $OMPI_MCA_mca_base_env_list\"");
        script::script(&fishplate.path(name), &format!("#!/bin/sh\n{told}\n"));
    };
    launcher("mpirun.openmpi", "mpirun.openmpi (OpenRTE) 4.1.4");
    launcher("mpiexec", "HYDRA build details:");
    let run = |words: &[&str]| {
        let mut command =
            fishplate.command(&[&["run", "--collectives", "native", "--rails", "lo", "--"], words].concat());
        common::Ran::of(command.env("OMPI_MCA_mca_base_env_list", "MINE=1").output().unwrap()).out
    };
    let list = "FISHPLATE_COLLECTIVES;FISHPLATE_NOTES;FISHPLATE_RAILS;FISHPLATE_STATS;FI_MR_CACHE_MAX_COUNT;FI_PROVIDER;FI_PROVIDER_PATH;MINE=1";
    // Open MPI 4 ends with an error where it finds both.
    let options = "-x FISHPLATE_COLLECTIVES -x FISHPLATE_NOTES -x FISHPLATE_STATS -x FI_MR_CACHE_MAX_COUNT -x FI_PROVIDER -x FI_PROVIDER_PATH -x MINE=1";
    let given = ["./mpirun.openmpi", "-x", "FISHPLATE_RAILS=r0", "-n", "2", "./app"];
    assert_eq!(run(&given), format!("{options} -x FISHPLATE_RAILS=r0 -n 2 ./app list \n"));
    assert_eq!(run(&["./mpirun.openmpi", "./app"]), format!("./app list {list}\n"));
    assert_eq!(run(&["./mpiexec", "./app", "-x", "3"]), format!("./app -x 3 list {list}\n"), "of the program");
}

#[test]
fn a_stack_of_modules_loads_them_around_the_command() {
    let fishplate = Installed::new();
    // A site's `module`, and what it brings: an mpiexec that prints its environment. It brings no mpicc, and neither does the
    // machine that the test runs on.
    std::fs::create_dir(fishplate.path("site")).unwrap();
    symlink("/usr/bin/env", fishplate.path("site/env")).unwrap();
    let module = format!("module() {{ export PATH='{}' FI_PROVIDER=$2; }}\n", fishplate.path("site").display());
    std::fs::write(fishplate.path(".bash_profile"), module).unwrap();
    script::script(&fishplate.path("site/mpiexec"), "#!/bin/sh\necho \"$FI_PROVIDER $*\"\n");
    let stack = "[site]\nmodules = [\"mpi/5\"]\nlauncher = \"hydra\"\nfishplate = true\n";
    std::fs::write(fishplate.path("site.toml"), stack).unwrap();

    let run = |args: &[&str]| fishplate.run_with(("HOME", fishplate.path("")), args);
    let ran = run(&["run", "--stacks", "site.toml", "--mpi", "site", "--", "mpiexec", "-n", "2"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "fishplate -n 2\n"), "{}", ran.err);
    let env = run(&["env", "--stacks", "site.toml", "--mpi", "site"]);
    assert!(env.out.starts_with("module load mpi/5 >/dev/null\nexport FI_PROVIDER_PATH="), "{}", env.out);
    let env = run(&["env", "--stacks", "site.toml", "--mpi", "site", "--format", "csh"]);
    assert!(env.out.starts_with("module load mpi/5 >/dev/null;\nsetenv FI_PROVIDER_PATH '"), "{}", env.out);
    let json = run(&["env", "--stacks", "site.toml", "--mpi", "site", "--format", "json"]);
    json.fails_saying(&["the stack site needs `module load mpi/5", "--format sh, csh or fish", "leave out --mpi"]);
    let ran = run(&["stacks", "site", "--stacks", "site.toml", "--", "./app"]);
    assert!(ran.out.trim_end().ends_with("mpiexec -n 2 ./app"), "{}{}", ran.out, ran.err);
    let list = run(&["stacks", "--stacks", "site.toml"]);
    assert!(list.out.contains("`module load mpi/5` does not bring mpicc"), "{}", list.out);
}

#[test]
fn a_stack_keeps_the_collective_operations_of_its_own_environment() {
    let fishplate = Installed::new();
    preload::preload(&fishplate);
    std::fs::create_dir_all(fishplate.path("mpi/bin")).unwrap();
    script::script(&fishplate.path("mpi/bin/mpiexec"), "#!/bin/sh\necho \"$FISHPLATE_COLLECTIVES\"\n");
    let path = fishplate.path("mpi");
    let about = format!("launcher = \"hydra\"\nfishplate = true\npath = \"{}\"\n", path.display());
    let own = "environment = { FISHPLATE_COLLECTIVES = \"native\" }\n";
    std::fs::write(fishplate.path("two.toml"), format!("[plain]\n{about}\n[own]\n{about}{own}")).unwrap();
    let setting = |subcommand: &str, stack: &str, more: &[&str]| {
        let args = [&[subcommand, "--stacks", "two.toml", "--mpi", stack], more, &["--", "mpiexec"]].concat();
        let ran = fishplate.run_with(("FISHPLATE_COLLECTIVES", "shared"), &args).succeeds();
        ran.out.trim().to_string()
    };
    for subcommand in ["run", "profile"] {
        assert_eq!(setting(subcommand, "own", &[]), "native");
        assert_eq!(setting(subcommand, "plain", &[]), "shared");
    }
    assert_eq!(setting("run", "own", &["--collectives", "direct"]), "direct");
}
