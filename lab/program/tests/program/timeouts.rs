//! `docs/reference/timeouts.md` has every time-out of the product, with its value: none is missing, none is left over.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates of the transport whose code runs in an MPI process.
const CRATES: [&str; 8] = ["engine", "interpose", "link-core", "provider", "rails", "rails-ofi", "rails-shm", "guest"];
/// Folders of them that only measure, or simulate.
const MEASURING: [&str; 8] = [
    "engine/src/channel/path/",
    "engine/src/channel/scheduler/",
    "engine/src/policy/",
    "interpose/src/trace/",
    "rails/src/link/congestion/",
    "rails-ofi/src/simula",
    "rails/src/streams/",
    "rails/src/endpoint/test_pair.rs",
];
/// Shorter ones nobody notices, in nanoseconds.
const MIN_NS: f64 = 5e6;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../transport")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && path.file_name().unwrap() != "tests.rs" {
            found.push(path);
        }
    }
}

/// The value of a constant of time in nanoseconds: `Duration::from_millis(5)`, `5_000_000` with a name that ends in `_NS`.
fn constant(line: &str) -> Option<(&str, f64)> {
    let (_, rest) = line.split_once("const ")?;
    let (name, rest) = rest.split_once(": ")?;
    let (kind, value) = rest.split_once(" = ")?;
    let value = value.trim_end_matches(';').replace('_', "");
    let nanoseconds = match kind {
        "Duration" => {
            let (unit, number) = value.strip_prefix("Duration::from")?.strip_suffix(')')?.split_once('(')?;
            let unit = [("secs", 1e9), ("millis", 1e6), ("micros", 1e3)].into_iter().find(|(name, _)| *name == unit)?.1;
            number.parse::<f64>().ok()? * unit
        }
        "u64" | "f64" if name.ends_with("_NS") => value.parse().ok()?,
        _ => return None,
    };
    Some((name, nanoseconds))
}

/// Those of the code, by file and name.
fn of_code() -> BTreeMap<(String, String), f64> {
    let mut files = Vec::new();
    CRATES.iter().for_each(|name| sources(&root().join(name).join("src"), &mut files));
    let mut found = BTreeMap::new();
    for path in files {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap().to_string();
        if MEASURING.iter().any(|folder| file.starts_with(folder)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let constants = code.lines().filter_map(constant).filter(|(_, nanoseconds)| *nanoseconds >= MIN_NS);
        found.extend(constants.map(|(name, nanoseconds)| ((file.clone(), name.to_string()), nanoseconds)));
    }
    let default = fishplate_rails::Settings::default();
    for (name, value) in [("timeout", default.timeout), ("start_timeout", default.start_timeout)] {
        found.insert(("rails/src/settings.rs".into(), name.into()), value.as_nanos() as f64);
    }
    found
}

/// Those of the page. The time is the first cell that is one.
fn of_page() -> BTreeMap<(String, String), f64> {
    let page = fs::read_to_string(root().join("../docs/reference/timeouts.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let entry = |row: &str| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let names: Vec<&str> = cells[1].split('`').collect();
        let time = cells.iter().skip(2).find_map(|cell| {
            let (number, unit) = cell.split_once(' ')?;
            let unit = [("s", 1e9), ("ms", 1e6)].into_iter().find(|(name, _)| *name == unit)?.1;
            Some(number.parse::<f64>().ok()? * unit)
        });
        ((names[1].to_string(), names[3].to_string()), time.unwrap_or_else(|| panic!("no time in {row}")))
    };
    rows.map(entry).collect()
}

#[test]
fn the_page_of_time_outs_has_all_of_the_code_and_no_others() {
    let (code, page) = (of_code(), of_page());
    assert!(code.len() > 40, "the code has more than these: {code:?}");
    for (name, nanoseconds) in &code {
        let told = page.get(name);
        assert!(told.is_some(), "docs/reference/timeouts.md lacks {name:?}, of {} ms", nanoseconds / 1e6);
        assert_eq!(told, Some(nanoseconds), "docs/reference/timeouts.md has another value of {name:?}");
    }
    let others: Vec<_> = page.keys().filter(|name| !code.contains_key(name)).collect();
    assert!(others.is_empty(), "docs/reference/timeouts.md has what is not in the code: {others:?}");
}
