//! Reads a record. Tolerates an incomplete last line, but no other error.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;

use super::schema::{Completed, Line, Link, Manifest, Rail, Rails, SCHEMA, Sample, Skipped, Statement};

/// The kinds of lines, for messages.
const KINDS: [&str; 7] = ["manifest", "link", "sample", "rails", "skipped", "cell", "statement"];

/// A record in memory, lines in order by kind.
#[derive(Debug, Default)]
pub struct Record {
    pub file: PathBuf,
    /// Its first line.
    pub manifest: Manifest,
    pub links: Vec<Link>,
    pub samples: Vec<Sample>,
    pub rails: Vec<Rails>,
    /// Missing measurements.
    pub skipped: Vec<Skipped>,
    /// Complete measurements.
    pub cells: Vec<Completed>,
    /// Published facts.
    pub statements: Vec<Statement>,
    /// Number of a last line that ends in the middle, from 1.
    pub torn: Option<usize>,
    /// Length in bytes of all whole lines.
    pub whole_bytes: u64,
}

/// Reads and validates a record.
///
/// # Errors
/// With file and line number, on anything that is not a record, and on any line but a torn last one that is malformed.
pub fn read(file: &Path) -> Result<Record> {
    let bytes = fs::read(file).with_context(|| format!("cannot read the record {}", file.display()))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut lines = bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate();
    let Some((_, first)) = lines.next() else {
        bail!("{}: not a record: it has no complete first line with the manifest", file.display())
    };
    let first = manifest(first).with_context(|| format!("{}, line 1", file.display()))?;
    let mut record = Record { whole_bytes: whole as u64, ..Record::of(file.to_path_buf(), first) };
    let mut last = 1;
    for (index, line) in lines {
        last = index + 1;
        let line = parse(line).and_then(|line| record.add(line));
        line.with_context(|| format!("{}, line {last}", file.display()))?;
    }
    record.torn = (whole < bytes.len()).then_some(last + 1);
    Ok(record)
}

impl Record {
    /// A record with only a manifest.
    pub fn of(file: PathBuf, manifest: Manifest) -> Record {
        Record { file, manifest, ..Record::default() }
    }

    /// An empty record; `options`: those of its manifest.
    #[cfg(test)]
    pub fn synthetic(options: Value) -> Record {
        let machine = serde_json::json!({"cpu": "", "cores": 2, "memory_bytes": 0, "kernel": "", "hostname": ""});
        let manifest = serde_json::json!({"schema": SCHEMA, "fishplate": "0", "started": "", "load": 0.0, "stacks": [],
            "machine": machine, "links": [], "benchmarks": [], "rounds": 1, "options": options});
        Record::of("synthetic".into(), serde_json::from_value(manifest).unwrap())
    }

    fn add(&mut self, line: Line) -> Result<()> {
        match line {
            Line::Manifest(_) => bail!("a second manifest: only the first line is one"),
            Line::Link(link) => self.links.push(link),
            Line::Sample(sample) => {
                ensure!(sample.value >= 0.0, "the value {} is negative", sample.value);
                self.samples.push(sample);
            }
            Line::Rails(rails) => self.rails.push(rails),
            Line::Skipped(skipped) => self.skipped.push(skipped),
            Line::Cell(cell) => self.cells.push(cell),
            Line::Statement(statement) => {
                // Of several for one fact the last counts: it was judged from more.
                self.statements.retain(|earlier| earlier.id != statement.id);
                self.statements.push(statement);
            }
        }
        Ok(())
    }

    /// A note for the user about a torn last line.
    pub fn torn_note(&self) -> Option<String> {
        let line = self.torn?;
        let file = self.file.display();
        Some(format!("{file}, line {line}: the last line is torn (its writer was killed); it is left out"))
    }
}

/// Checks that a link's name has one meaning in all records: otherwise values of different links would be compared.
///
/// # Errors
/// When a link was asked for differently.
pub fn links_agree(records: &[&Record]) -> Result<()> {
    let asked = |link: &Link| -> Vec<_> {
        let rails = link.rails.iter();
        rails
            .map(|rail| {
                let Rail { name, rate_mbit, delay_us, loss, flip, path_mtu, queue_bytes, burst, .. } = rail;
                (name.clone(), *rate_mbit, *delay_us, [*loss, *flip], *path_mtu, *queue_bytes, *burst)
            })
            .collect()
    };
    let mut known: BTreeMap<&str, (&Record, Vec<_>)> = BTreeMap::new();
    for record in records {
        for link in &record.links {
            let (other, rails) = known.entry(&link.name).or_insert_with(|| (record, asked(link)));
            ensure!(
                *rails == asked(link),
                "the link {} differs between {} and {}",
                link.name,
                other.file.display(),
                record.file.display()
            );
        }
    }
    Ok(())
}

/// The first line: its schema is looked at before anything else, since another one explains all that follows.
fn manifest(line: &[u8]) -> Result<Manifest> {
    let value: Value = serde_json::from_slice(line).context("not a record: the first line is not JSON")?;
    let schema = value.get("schema").and_then(Value::as_str).unwrap_or_default();
    let major = |name: &str| name.split('.').next().unwrap_or_default().to_string();
    ensure!(
        value.get("kind").and_then(Value::as_str) == Some("manifest") && schema.starts_with("fishplate-record/"),
        "not a record: the first line is no manifest with a schema {SCHEMA}"
    );
    ensure!(major(schema) == SCHEMA, "the schema is {schema}, and this program reads {SCHEMA}");
    match parse(line)? {
        Line::Manifest(manifest) => Ok(*manifest),
        _ => Err(anyhow!("not a manifest")),
    }
}

fn parse(line: &[u8]) -> Result<Line> {
    let value: Value = serde_json::from_slice(line).context("not JSON")?;
    let kind = value.get("kind").and_then(Value::as_str).context("a line without \"kind\"")?.to_string();
    ensure!(KINDS.contains(&kind.as_str()), "unknown kind \"{kind}\": there are {}", KINDS.join(", "));
    serde_json::from_value(value).with_context(|| format!("a malformed line of kind \"{kind}\""))
}
