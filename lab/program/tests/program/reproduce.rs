//! docs/papers/reproduce.md lists the rows that hold, and those that do not, as the command finds them.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn documented_results_of_reproduce_are_current() {
    let ran = Command::new(env!("CARGO_BIN_EXE_fishplate")).args(["reproduce", "--markdown"]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let printed = String::from_utf8(ran.stdout).unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers/reproduce.md");
    let documented = fs::read_to_string(page).unwrap();
    assert!(documented.contains(&printed), "`fishplate reproduce --markdown` prints other tables:\n{printed}");
}
