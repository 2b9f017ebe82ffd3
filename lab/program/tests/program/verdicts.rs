//! Records of ready experiments, judged again.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[test]
fn records_are_judged_again_or_refused() {
    let records = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/records");
    let verdicts = |record: &PathBuf| {
        Command::new(env!("CARGO_BIN_EXE_fishplate")).args(["lab", "verdicts"]).arg(record).output().unwrap()
    };
    let record = records.join("wan-2008.jsonl");
    let ran = verdicts(&record);
    assert!(ran.status.success());
    assert!(String::from_utf8(ran.stdout).unwrap().starts_with("### wan-2008\n\nMeasured on "));

    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.jsonl");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&other, text.replacen("\"title\":\"wan-2008", "\"title\":\"something", 1)).unwrap();
    let ran = verdicts(&other);
    assert!(!ran.status.success());
    let told = String::from_utf8(ran.stderr).unwrap();
    assert!(told.contains("other.jsonl: no record of multirail-2004, wan-2008, endapps-2006, pecnit-2007"), "{told}");
}
