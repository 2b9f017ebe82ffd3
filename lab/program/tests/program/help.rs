//! `fishplate help`, shell completion and manual pages.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::Installed;

#[test]
fn a_topic_is_a_page_of_the_documentation() {
    let fishplate = Installed::new();
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/settings.md")).unwrap();
    assert_eq!(fishplate.run(&["help", "settings"]).out, page);
    // The page of a subcommand, and the help of one that has none.
    assert!(fishplate.run(&["help", "lab", "up"]).out.starts_with("# fishplate lab\n"));
    assert!(fishplate.run(&["help", "completion"]).out.contains("Usage: fishplate completion"));
}

#[test]
fn topics_are_listed_and_proposed() {
    let fishplate = Installed::new();
    let list = fishplate.run(&["help"]).succeeds();
    for part in ["  run  ", "  simulate  ", "  completion ", "  policies       Policies\n", "fishplate help TOPIC"] {
        assert!(list.out.contains(part), "no \"{part}\" in {}", list.out);
    }
    fishplate.run(&["help", "settigns"]).fails_saying(&["\"settigns\"", "is \"settings\" meant?", "fishplate help"]);
    // What the program keeps for itself has no page either.
    for topic in ["hold-host", "weather"] {
        let ran = fishplate.run(&["help", topic]);
        ran.fails_saying(&["no page is about", topic, "`fishplate help` lists them"]);
        assert!(!ran.err.contains("meant?"), "{}", ran.err);
    }
}

#[test]
fn completions_are_scripts_of_their_shells() {
    let fishplate = Installed::new();
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let script = fishplate.run(&["completion", shell]).out;
        assert!(script.contains("testbed") && script.contains("striping"), "{shell}");
        assert!(!script.contains("hold-host") && !script.contains("write-manual"), "{shell}");
        let Ok(mut reader) = Command::new(shell).arg(check).stdin(Stdio::piped()).spawn() else {
            eprintln!("skipped, {shell} is not installed");
            continue;
        };
        reader.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(reader.wait().unwrap().success(), "{shell}");
    }
    fishplate.run(&["completion", "dos"]).fails_saying(&["dos", "bash", "zsh", "fish"]);
}

#[test]
fn every_subcommand_has_a_manual_page() {
    let fishplate = Installed::new();
    fishplate.run(&["write-manual", "man/man1"]).succeeds();
    let page = |name: &str| fs::read_to_string(fishplate.path("man/man1").join(name)).unwrap();
    assert!(page("fishplate.1").contains("fishplate\\-run"));
    assert!(page("fishplate-run.1").contains(".TH fishplate-run 1"));
    assert!(page("fishplate-lab-up.1").contains("\\-\\-hosts"));
    assert!(!fishplate.path("man/man1/fishplate-hold-host.1").exists());
    fs::write(fishplate.path("file"), "").unwrap();
    fishplate.run(&["write-manual", "file/man1"]).fails_saying(&["cannot write to file/man1: Not a directory"]);
}
