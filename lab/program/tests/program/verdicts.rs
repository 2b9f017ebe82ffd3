//! docs/papers/experiments.md lists the verdicts that the records in the repository give by the rules as they are.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn papers() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers")
}

/// The records in the repository, in the order of their names.
fn records() -> Vec<PathBuf> {
    let folder = fs::read_dir(papers().join("records")).unwrap();
    let mut records: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    records.sort();
    records
}

fn verdicts(args: impl IntoIterator<Item = PathBuf>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fishplate")).args(["lab", "verdicts"]).args(args).output().unwrap()
}

fn printed(ran: Output) -> String {
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn documented_verdicts_are_those_of_the_records() {
    let printed = printed(verdicts(records()));
    let documented = fs::read_to_string(papers().join("experiments.md")).unwrap();
    assert!(documented.contains(&printed), "`fishplate lab verdicts docs/papers/records/*` prints:\n{printed}");
}

/// The kept part of a record is enough for equal verdicts, and each of its values decides one.
#[test]
fn a_kept_record_has_equal_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let all = records();
    assert!(!all.is_empty());
    for record in &all {
        let kept = folder.path().join(record.file_name().unwrap());
        // With a sample that no rule reads.
        let text = fs::read_to_string(record).unwrap();
        let sample = text.lines().find(|line| line.contains("\"kind\":\"sample\"")).unwrap();
        let unread = sample.replacen("\"benchmark\":\"", "\"benchmark\":\"unread ", 1);
        assert_ne!(unread, sample);
        let full = folder.path().join("full.jsonl");
        fs::write(&full, format!("{text}{unread}\n")).unwrap();
        // Twice: the second replaces the first.
        for _ in 0..2 {
            printed(verdicts([full.clone(), "--keep".into(), folder.path().into()]));
        }
        let itself = verdicts([kept.clone(), "--keep".into(), folder.path().into()]);
        let error = String::from_utf8(itself.stderr).unwrap();
        assert!(!itself.status.success() && error.contains("is the record itself: choose another folder"), "{error}");
        assert_eq!(printed(verdicts([kept.clone()])), printed(verdicts([record.clone()])));
        assert_eq!(
            fs::read(&kept).unwrap(),
            fs::read(record).unwrap(),
            "{} is not as --keep writes it",
            record.display()
        );
    }
}

#[test]
fn a_record_of_no_experiment_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(&records()[0]).unwrap();
    let manifest = text.lines().next().unwrap();
    let title = manifest.split("\"title\":\"").nth(1).and_then(|rest| rest.split(':').next()).unwrap();
    let other = folder.path().join("other.jsonl");
    fs::write(&other, manifest.replacen(title, "something", 1) + "\n").unwrap();
    let ran = verdicts([other]);
    assert!(!ran.status.success());
    let told = String::from_utf8(ran.stderr).unwrap();
    assert!(told.contains("other.jsonl: no record of multirail-2004, wan-2008, endapps-2006, pecnit-2007"), "{told}");
}
