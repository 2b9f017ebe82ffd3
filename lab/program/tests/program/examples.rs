//! Examples print what the comment at their head says.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, str};

/// Examples that need nothing but a processor; at least these.
const ALONE: &[&str] = &["broadcast", "long_haul", "two_engines"];

/// What the comment at the head of an example says that it prints.
fn promised(source: &str) -> Option<String> {
    let head = source.lines().map_while(|line| line.strip_prefix("//!"));
    let text: Vec<&str> = head.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let start = text.iter().position(|line| *line == "```text")? + 1;
    let len = text[start..].iter().position(|line| *line == "```")?;
    Some(text[start..start + len].iter().map(|line| format!("{line}\n")).collect())
}

/// The programs of all examples, which cargo has built already when it runs the tests of the workspace.
fn built() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--workspace", "--examples", "--quiet", "--message-format", "json"]).current_dir(root);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found = Vec::new();
    for line in str::from_utf8(&output.stdout).unwrap().lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        if let (Some(program), Some("example")) =
            (message["executable"].as_str(), message["target"]["kind"][0].as_str())
        {
            found.push((message["target"]["src_path"].as_str().unwrap().to_string(), program.into()));
        }
    }
    found
}

#[test]
fn examples_print_what_they_promise() {
    let mut run = Vec::new();
    for (source, program) in built() {
        let Some(promised) = promised(&fs::read_to_string(&source).unwrap()) else { continue };
        let output = Command::new(&program).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(printed == promised, "{source} promises\n{promised}\nand prints\n{printed}");
        run.push(Path::new(&source).file_stem().unwrap().to_string_lossy().into_owned());
    }
    run.sort();
    assert_eq!(run, ALONE, "examples that say what they print");
}
