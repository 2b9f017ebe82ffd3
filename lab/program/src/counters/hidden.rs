//! Processes that have loaded the provider, whether or not they show what their rails carry.

use std::fs;
use std::path::Path;

use fishplate_guest::printable;

/// Names of the provider's file.
const PROVIDER: [&str; 2] = ["/libfishplate-fi.so", "/libfishplate_fi.so"];
/// The setting with which a process shows nothing.
const OFF: &[u8] = b"FISHPLATE_TOP=off";

/// Why there are no counters to show, in one line. `proc`: mount point of the process file system.
pub fn why_nothing_is_shown(proc: &Path, is_root: bool) -> String {
    let loaded = processes(proc);
    let off: Vec<&String> = loaded.iter().filter(|(_, is_off)| *is_off).map(|(name, _)| name).collect();
    let others = if is_root { "" } else { " of this user (root sees everybody's)" };
    match (off.first(), loaded.first()) {
        (Some(name), _) => format!("no MPI program shows its rails: FISHPLATE_TOP=off in {name}{}", more(off.len())),
        (None, Some((name, _))) => {
            format!("no MPI program shows its rails yet; {name}{} has loaded Fishplate", more(loaded.len()))
        }
        (None, None) => format!("no MPI program with Fishplate{others} is running here"),
    }
}

fn more(count: usize) -> String {
    if count > 1 { format!(" and {} more", count - 1) } else { String::new() }
}

/// Names of processes that have loaded it, and whether they are not to show anything.
fn processes(proc: &Path) -> Vec<(String, bool)> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    let numbered = entries.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
    let mut found: Vec<(String, bool)> = numbered
        .filter_map(|entry| {
            let read = |file: &str| fs::read(entry.path().join(file)).ok();
            let maps = read("maps")?;
            let maps = String::from_utf8_lossy(&maps);
            PROVIDER.iter().any(|provider| maps.contains(provider)).then_some(())?;
            let environment = read("environ").unwrap_or_default();
            let is_off = environment.split(|byte| *byte == 0).any(|variable| variable == OFF);
            let program = read("comm").unwrap_or_default();
            let program = String::from_utf8_lossy(&program);
            let program = printable(program.trim());
            Some((format!("{program} (process {})", entry.file_name().to_string_lossy()), is_off))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_nothing_is_shown_is_found_out() {
        let proc = tempfile::tempdir().unwrap();
        let process = |number: u32, maps: &str, environment: &str| {
            let folder = proc.path().join(number.to_string());
            fs::create_dir(&folder).unwrap();
            for (file, text) in [("maps", maps), ("environ", environment), ("comm", "app\n")] {
                fs::write(folder.join(file), text).unwrap();
            }
        };
        let says = || why_nothing_is_shown(proc.path(), true);
        process(1, "00-01 r-xp /usr/lib/libc.so.6", "FISHPLATE_TOP=off\0");
        assert_eq!(says(), "no MPI program with Fishplate is running here");
        assert!(why_nothing_is_shown(proc.path(), false).contains("of this user (root sees everybody's)"));
        process(20, "00-01 r-xp /x/lib/fishplate/libfishplate-fi.so", "A=1\0");
        assert_eq!(says(), "no MPI program shows its rails yet; app (process 20) has loaded Fishplate");
        for number in [21, 22] {
            process(number, "00-01 r-xp /x/lib/fishplate/libfishplate-fi.so", "A=1\0FISHPLATE_TOP=off\0");
        }
        assert_eq!(says(), "no MPI program shows its rails: FISHPLATE_TOP=off in app (process 21) and 1 more");
    }
}
