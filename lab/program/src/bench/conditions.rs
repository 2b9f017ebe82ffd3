//! The conditions of a measurement: machine, kernel, date.

use std::fs;
use std::process::Command;

use fishplate_rails::process;

use crate::record::{Machine, Manifest, SCHEMA};
use crate::system::programs;

/// The manifest of a record that is about to be written.
pub fn manifest() -> Manifest {
    Manifest {
        schema: SCHEMA.into(),
        fishplate: env!("CARGO_PKG_VERSION").into(),
        started: now(),
        machine: machine(),
        load: load(),
        ..Manifest::default()
    }
}

pub fn machine() -> Machine {
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap_or_default();
    let kibibytes: u64 = total.trim().trim_end_matches("kB").trim().parse().unwrap_or(0);
    Machine {
        cpu: model.trim_start_matches([' ', '\t', ':']).to_string(),
        cores: cores(),
        memory_bytes: kibibytes << 10,
        kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        hostname: process::host().to_string(),
    }
}

/// Processors that this program may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// Options that say where files are, and not what is measured.
const FILES: [&str; 5] = ["--inside", "--record", "--sources", "--output", "-o"];

/// The arguments of this program, but for those that say where files are.
pub fn command() -> Vec<String> {
    without_files(std::env::args().skip(1))
}

fn without_files(mut words: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if FILES.contains(&word.as_str()) {
            words.next();
        } else if !FILES.iter().any(|name| word.strip_prefix(name).is_some_and(|value| value.starts_with('='))) {
            kept.push(word);
        }
    }
    kept
}

/// Load of the machine over the last minute.
pub fn load() -> f64 {
    read("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

/// Now, in universal time, as RFC 3339 has it.
pub fn now() -> String {
    programs::run_quietly(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]), "")
        .unwrap_or_default()
        .trim()
        .to_string()
}

/// How TCP avoids congestion here.
pub fn congestion_control() -> String {
    read("/proc/sys/net/ipv4/tcp_congestion_control").trim().to_string()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_no_files() {
        let line = "--inside /tmp/x bench claims --record a.jsonl --links a --sources=bench --rounds 2";
        let kept = without_files(line.split(' ').map(String::from));
        assert_eq!(kept.join(" "), "bench claims --links a --rounds 2");
    }
}
