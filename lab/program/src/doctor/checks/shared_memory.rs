//! Whether ranks of one host can share memory.

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::io::IoSliceMut;
use std::path::Path;

use super::last_number;
use crate::doctor::finding::Finding;
use crate::output::text;
use crate::system::free_space;

const CHECK: &str = "shared memory";
const FOLDER: &str = "/dev/shm";
/// MPI libraries take some MiB for each rank there; what containers have by default is 64 MiB.
const MIN_FREE_BYTES: u64 = 64_000_000;

/// Facts about the shared memory of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Bytes that are free in /dev/shm.
    pub free: Option<u64>,
    /// Why no file can be created there, if so.
    pub error: Option<String>,
    /// `kernel.yama.ptrace_scope`.
    pub yama: Option<u8>,
    /// Why no process can read the memory of another one, not even its own that way, if so.
    pub reading: Option<String>,
}

/// Looks at this host.
pub fn gather() -> Facts {
    Facts {
        free: free_space::of(Path::new(FOLDER)).ok(),
        error: tempfile::tempfile_in(FOLDER).err().map(|error| error.to_string()),
        yama: last_number("kernel/yama/ptrace_scope"),
        reading: read_own_memory().err().map(|error| error.to_string()),
    }
}

fn read_own_memory() -> nix::Result<()> {
    let (from, mut to) = ([1u8], [0u8]);
    let remote = [RemoteIoVec { base: from.as_ptr() as usize, len: 1 }];
    process_vm_readv(Pid::this(), &mut [IoSliceMut::new(&mut to)], &remote).map(|_| ())
}

/// Findings about these facts.
pub fn judge(host: &str, facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(error) = &facts.error {
        let found =
            format!("nothing can be put into {FOLDER} ({error}), where MPI libraries share memory between ranks");
        let to_do =
            "mount a tmpfs there that all users may write to (mode 1777); in a container: --ipc=host or --shm-size";
        findings.push(Finding::warning(CHECK, host, found, to_do.into()));
    } else if let Some(free) = facts.free.filter(|free| *free < MIN_FREE_BYTES) {
        let found = format!("{} are free in {FOLDER}, which can be too little for a few ranks", text::bytes(free));
        let to_do =
            "remove files that are left there, or `mount -o remount,size=1G /dev/shm`; in a container: --shm-size=1g";
        findings.push(Finding::warning(CHECK, host, found, to_do.into()));
    }
    let slower = "long messages between ranks of one host are copied once more";
    if let Some(error) = &facts.reading {
        let found = format!("processes cannot read each other's memory (process_vm_readv: {error}): {slower}");
        let to_do = "let the container's seccomp profile allow it, or --cap-add=SYS_PTRACE".to_string();
        findings.push(Finding::warning(CHECK, host, found, to_do));
    } else if let Some(scope) = facts.yama.filter(|scope| *scope > 0) {
        let found = format!("kernel.yama.ptrace_scope is {scope}: {slower}");
        let to_do = "sysctl -w kernel.yama.ptrace_scope=0, if users may see their own processes".to_string();
        findings.push(Finding::warning(CHECK, host, found, to_do));
    }
    if findings.is_empty() {
        let free = facts.free.map_or(String::new(), |free| format!("{} free in {FOLDER}", text::bytes(free)));
        findings.push(Finding::fine(CHECK, host, free));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(facts: Facts) -> Vec<String> {
        let text = |f: Finding| format!("{:?}: {} -> {}", f.severity, f.found, f.to_do.unwrap_or_default());
        judge("a", &facts).into_iter().map(text).collect()
    }

    #[test]
    fn missing_full_or_forbidden_shared_memory_is_a_warning() {
        let fine = Facts { free: Some(8_000_000_000), yama: Some(0), ..Facts::default() };
        assert_eq!(judged(fine.clone()), ["Fine: 8.00 GB free in /dev/shm -> "]);
        let gone = judged(Facts { error: Some("No such file or directory".into()), ..fine.clone() });
        assert!(gone[0].contains("nothing can be put into /dev/shm (No such file") && gone[0].contains("--shm-size"));
        let full = judged(Facts { free: Some(1_000_000), ..fine.clone() });
        assert!(full[0].starts_with("Warning: 1.00 MB are free"), "{full:?}");
        let yama = judged(Facts { yama: Some(1), ..fine.clone() });
        assert!(yama[0].contains("ptrace_scope is 1") && yama[0].contains("ptrace_scope=0"), "{yama:?}");
        let seccomp = judged(Facts { reading: Some("EPERM".into()), yama: Some(1), ..fine });
        assert!(seccomp.len() == 1 && seccomp[0].contains("SYS_PTRACE"), "{seccomp:?}");
    }

    #[test]
    fn own_memory_can_be_asked_for() {
        // Whether it can be read is for the system to say.
        let _ = gather();
    }
}
