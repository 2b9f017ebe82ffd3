//! Tables of the documentation that are wrong are told with their place; right ones are written from records.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::common::{Installed, Ran};
use crate::records;

const PAGE: &str = "# Page\n\n<!-- numbers: rates -->\n<!-- end of numbers -->\n";
const TABLES: &str = "[names]\ntcp = \"TCP\"\n[table.rates]\nrecord = \"lan\"\nview = \"values\"\n";

/// A repository with one page, tables, and a record.
struct Repository {
    folder: TempDir,
    program: Installed,
}

impl Repository {
    fn new() -> Repository {
        let repository = Repository { folder: tempfile::tempdir().unwrap(), program: Installed::new() };
        fs::create_dir_all(repository.folder.path().join("docs/records")).unwrap();
        repository.put("README.md", PAGE);
        repository.put("docs/records/tables.toml", TABLES);
        let lines = records::of(&[("tcp", &[90.0, 100.0, 110.0]), ("fast|er", &[200.0, 201.0, 202.0])]);
        records::write(&repository.folder.path().join("docs/records/lan.jsonl"), &lines);
        repository
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn page(&self) -> String {
        fs::read_to_string(self.folder.path().join("README.md")).unwrap()
    }

    fn run(&self, options: &[&str]) -> Ran {
        let mut command = self.program.command(&["write-numbers"]);
        Ran::of(command.args(options).arg(self.folder.path()).output().unwrap())
    }

    #[track_caller]
    fn fails_saying(&self, parts: &[&str]) {
        self.run(&[]).fails_saying(parts);
    }
}

#[test]
fn a_table_is_made_of_its_record() {
    let repository = Repository::new();
    repository.run(&["--check"]).fails_saying(&["tables or pictures differ from their records: `make numbers`"]);
    assert_eq!(repository.page(), PAGE);
    repository.run(&[]).succeeds();
    let page = repository.page();
    let table = "<!-- numbers: rates -->\n\n| TCP | fast\\|er |\n|---|---|\n| 100 | 201 |\n\nUnit: MB/s; benchmark: \
        bandwidth; rails, Mbit/s: lan; message size: 64 KiB; medians over the rounds. Measured on 2026-01-02 on 2 \
        processors (CPU, Linux 6.1), 3 rounds.\n\n<!-- end of numbers -->\n";
    assert!(page.contains(table), "{page}");
    assert_eq!(repository.run(&["--check"]).code, Some(0));
    assert!(repository.run(&[]).out.contains("all tables and pictures are those of the records"));
    repository.put("README.md", &page.replace("| 100 |", "| 99 |"));
    let ran = repository.run(&[]);
    assert_eq!(ran.out, "README.md, rates: | 99 -> 100 | 201 |\n");
    assert_eq!(repository.page(), page);
}

#[test]
fn wrong_blocks_and_tables() {
    let repository = Repository::new();
    repository.put("README.md", "<!-- numbers: rates -->\n");
    repository.fails_saying(&["README.md, line 1: the table \"rates\" has no end"]);
    repository.put("README.md", "<!-- numbers: other -->\n<!-- end of numbers -->\n");
    repository.fails_saying(&["README.md, line 1: no table \"other\" in", "tables.toml: it has rates"]);
    repository.put("README.md", "nothing\n");
    repository.fails_saying(&["tables.toml: no page shows the table \"rates\""]);
    repository.put("README.md", PAGE);
    repository.put("docs/records/tables.toml", &TABLES.replace("values", "graph"));
    repository.fails_saying(&[
        "tables.toml",
        "unknown variant `graph`",
        "expected one of `values`, `claims`, `verdicts`",
    ]);
    repository.put("docs/records/tables.toml", &TABLES.replace("\"lan\"", "\"wan\""));
    repository.fails_saying(&["README.md, line 3: cannot read the record", "docs/records/wan.jsonl"]);
    fs::remove_file(repository.folder.path().join("docs/records/tables.toml")).unwrap();
    repository.fails_saying(&["cannot read", "docs/records/tables.toml"]);
}

#[test]
fn records_of_something_else() {
    let repository = Repository::new();
    for (choice, told) in [
        ("benchmarks = [\"latency\"]", "it has no benchmark \"latency\": it has bandwidth"),
        ("links = [\"wan\"]", "it has no link \"wan\": it has lan"),
        ("stacks = [\"ucx\"]", "it has no stack \"ucx\": it has tcp, fast|er"),
        ("sizes = [\"1 MiB\"]", "it has no values of \"1 MiB\""),
        ("metrics = [\"run_time\"]", "it has no metric \"run_time\""),
    ] {
        repository.put("docs/records/tables.toml", &format!("{TABLES}{choice}\n"));
        repository.fails_saying(&["README.md, line 3: table \"rates\"", "lan.jsonl", told]);
    }
    repository.put("docs/records/tables.toml", &TABLES.replace("values", "claims"));
    repository.fails_saying(&["lan.jsonl was not written by `fishplate bench`: it has no plan"]);
    repository.put("docs/records/tables.toml", &TABLES.replace("values", "verdicts"));
    repository.fails_saying(&["lan.jsonl: no record of multirail-2004"]);
}

#[test]
fn values_that_no_row_tells_apart() {
    let repository = Repository::new();
    let mut lines = records::of(&[("tcp", &[90.0])]);
    let mut other = records::sample("tcp", 65536, 0, 50.0);
    other["options"]["window"] = 1.into();
    lines.push(other);
    records::write(&repository.folder.path().join("docs/records/lan.jsonl"), &lines);
    repository.fails_saying(&["bandwidth of bandwidth on lan has values with several options"]);
}

#[test]
fn what_cannot_be_measured_or_kept() {
    let repository = Repository::new();
    repository.run(&["--measure", "wan"]).fails_saying(&["cannot read the record", "wan.jsonl"]);
    repository.run(&["--measure", "lan"]).fails_saying(&["lan.jsonl: it does not tell the command that measured it"]);
    let own = repository.folder.path().join("docs/records/lan.jsonl");
    repository.run(&["--keep", own.to_str().unwrap()]).fails_saying(&["was not written by `fishplate bench`"]);
    let text = fs::read_to_string(&own).unwrap();
    fs::write(&own, text.replace("\"options\":{}", "\"options\":{\"command\":[\"bench\",\"nonsense\"]}")).unwrap();
    let failed = repository.run(&["--measure", "lan"]);
    failed
        .fails_saying(&["fishplate bench nonsense", ": exit status: 1; the record in the repository stays as it was"]);
}

#[test]
fn the_picture_of_the_demo_is_drawn_from_its_results() {
    let repository = Repository::new();
    repository.run(&[]).succeeds();
    let results = |stacks: &str| {
        let conditions = r#"{"date":"2026-01-02","facts":[],"rounds":1}"#;
        format!(
            r#"{{"schema":"fishplate-demo/1","conditions":{conditions},"rails":[],"sum":[150.0],"stacks":[{stacks}],"shares":[]}}"#
        )
    };
    let stack = |bandwidth: u32, failure: &str| {
        let bandwidth = format!(r#""latency":[1.0],"bandwidth":{{"65536":[{bandwidth}.0]}},"failure":{failure}"#);
        format!(r#"{{"name":"TCP","rails":"","told":false,"version":"","command":"",{bandwidth}}}"#)
    };
    let new = repository.folder.path().join("new.json");
    let keep = |text: &str| {
        fs::write(&new, text).unwrap();
        repository.run(&["--keep", new.to_str().unwrap()])
    };
    keep("{}").fails_saying(&["cannot read results from", "new.json"]);
    keep(&results(&stack(100, "\"it ended\""))).fails_saying(&["new.json: TCP has failed"]);
    let drawn =
        "docs/demo.svg: drawn from docs/records/demo.json\ndocs/demo-dark.svg: drawn from docs/records/demo.json\n";
    let picture = || fs::read_to_string(repository.folder.path().join("docs/demo.svg")).unwrap();
    assert!(keep(&results(&stack(100, "null"))).out.ends_with(drawn));
    let before = picture();
    assert_eq!(repository.run(&["--check"]).code, Some(0));
    keep(&results(&stack(120, "null"))).succeeds();
    assert!(before.starts_with("<svg ") && picture() != before);
    repository.put("docs/demo.svg", "");
    let ran = repository.run(&["--check"]);
    ran.fails_saying(&["tables or pictures differ from their records"]);
    assert!(ran.out.starts_with("docs/demo.svg: "), "{}", ran.out);
}

/// What is kept of a record is kept whole when it is kept again; of an experiment only values that decide are.
#[test]
fn records_in_the_repository_are_as_they_are_kept() {
    let repository = Repository::new();
    repository.put("README.md", "");
    repository.put("docs/records/tables.toml", "[names]\n");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/records");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "jsonl")) {
        let text = fs::read_to_string(&file).unwrap();
        let mut given = text.clone();
        if text.contains("\"command\":[\"lab\",\"run\"") {
            let sample = text.lines().find(|line| line.contains("\"kind\":\"sample\"")).unwrap();
            let unread = sample.replacen("\"benchmark\":\"", "\"benchmark\":\"unread ", 1);
            assert_ne!(unread, sample);
            given += &format!("{unread}\n");
        }
        let name = file.file_name().unwrap().to_str().unwrap();
        let record = repository.folder.path().join(name);
        fs::write(&record, given).unwrap();
        repository.run(&["--keep", record.to_str().unwrap()]).succeeds();
        let kept = fs::read_to_string(repository.folder.path().join("docs/records").join(name)).unwrap();
        assert!(kept == text, "{name} is not as `make numbers RECORD={name}` writes it");
    }
    let own = repository.folder.path().join("docs/records/wan-2008.jsonl");
    repository.run(&["--keep", own.to_str().unwrap()]).fails_saying(&["is the record itself: keep one from elsewhere"]);
}
