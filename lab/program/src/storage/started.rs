//! A process of a storage that was started: whether it is ready, whether it still runs, and what it says.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::description::Ready;
use crate::system::child_process::GRACE;

/// How often to look whether a process is ready, or has ended.
const LOOK: Duration = Duration::from_millis(10);
/// Maximum number of last lines of a process's output in an error message.
const LAST_LINES: usize = 5;
/// TCP's state LISTEN in /proc/net/tcp.
const LISTENING: &str = "0A";

pub struct Started {
    name: String,
    child: Child,
    log: PathBuf,
    /// How it is seen to be ready.
    ready: Ready,
    mount: PathBuf,
    /// The process that holds its host, as /proc numbers it.
    host: u32,
    ended: Option<String>,
}

impl Started {
    /// Starts `command` on the host that `host` holds; what it says goes to `log`.
    pub fn start(
        name: String,
        mut command: Command,
        log: PathBuf,
        ready: Ready,
        mount: &Path,
        host: u32,
    ) -> Result<Started> {
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let again = file.try_clone().context("cannot share a file")?;
        let child = command.stdin(Stdio::null()).stdout(file).stderr(again).spawn();
        let child = child.with_context(|| format!("cannot start {name}"))?;
        Ok(Started { name, child, log, ready, mount: mount.to_path_buf(), host, ended: None })
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// With its output, if it ended or took longer than `limit`.
    pub fn await_ready(&mut self, limit: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            let ended = self.status();
            let well = matches!(&ended, Some(Ok(status)) if status.success());
            if self.ready == Ready::Ended && well {
                return Ok(());
            }
            if let Some(status) = ended {
                bail!("{} {}: {}", self.name, how(status), self.last_words());
            }
            if self.is_ready() {
                return Ok(());
            }
            if start.elapsed() > limit {
                bail!("{} is not ready after {} s: {}", self.name, limit.as_secs_f64(), self.last_words());
            }
            std::thread::sleep(LOOK);
        }
    }

    fn is_ready(&self) -> bool {
        let of_host = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", self.host)).unwrap_or_default();
        match &self.ready {
            Ready::Ended => false,
            Ready::Says(words) => fs::read_to_string(&self.log).unwrap_or_default().contains(words.as_str()),
            Ready::Mounted => is_mounted(&of_host("mountinfo"), &self.mount),
            Ready::Port(port) => ["net/tcp", "net/tcp6"].iter().any(|file| listens(&of_host(file), *port)),
        }
    }

    /// Says that it has ended, if it should not have: once and for all.
    pub fn failure(&mut self) -> Option<String> {
        if self.ready != Ready::Ended
            && self.ended.is_none()
            && let Some(status) = self.status()
        {
            self.ended = Some(format!("{} {}: {}", self.name, how(status), self.last_words()));
        }
        self.ended.clone()
    }

    /// Ends it, at first gently.
    pub fn end(&mut self) {
        let process = Pid::from_raw(self.child.id() as i32);
        let start = Instant::now();
        let mut signal = Signal::SIGTERM;
        // One whose status is gone is gone too.
        while self.child.try_wait().is_ok_and(|status| status.is_none()) {
            if start.elapsed() > GRACE {
                signal = Signal::SIGKILL;
            }
            // An error means that it has ended already.
            let _ = kill(process, signal);
            std::thread::sleep(LOOK);
        }
    }

    /// How it ended, if it did; an error where another part of the program has taken its status.
    fn status(&mut self) -> Option<std::io::Result<ExitStatus>> {
        self.child.try_wait().transpose()
    }

    fn last_words(&self) -> String {
        let text = fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join(" | ");
        if last.is_empty() { "it said nothing".into() } else { last }
    }
}

fn how(status: std::io::Result<ExitStatus>) -> String {
    status.map_or("has ended".to_string(), |status| format!("has ended ({status})"))
}

/// Whether a table of the kernel's has somebody who listens at `port`.
fn listens(table: &str, port: u16) -> bool {
    table.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let here = |address: &&str| address.ends_with(&format!(":{port:04X}"));
        fields.get(1).is_some_and(here) && fields.get(3) == Some(&LISTENING)
    })
}

/// Whether something of FUSE is mounted at `folder`.
fn is_mounted(table: &str, folder: &Path) -> bool {
    // The kernel writes spaces in octal.
    let folder = folder.to_string_lossy().replace(' ', "\\040");
    table.lines().any(|line| line.split(' ').nth(4) == Some(&folder) && line.contains(" - fuse"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_kernel_are_understood() {
        let table = "  sl  local_address rem_address   st\n   0: 00000000:0801 00000000:0000 0A 0\n   1: 0100007F:0016 00000000:0000 01 0\n";
        assert!(listens(table, 2049) && !listens(table, 22) && !listens(table, 1));
        let mounts = "64 43 254:0 /m /a/mnt rw shared:1 - ext4 /dev/vda rw\n65 64 0:50 / /a/mnt rw shared:2 - fuse.mfs x rw\n\
                      66 43 0:51 / /a/b rw - tmpfs t rw\n67 43 0:52 / /a\\040b rw - fuse f rw\n";
        assert!(is_mounted(mounts, Path::new("/a/mnt")) && !is_mounted(mounts, Path::new("/a/b")));
        assert!(is_mounted(mounts, Path::new("/a b")));
    }

    fn shell(line: &str, ready: Ready, log: &Path) -> Started {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        Started::start("server on node1".into(), command, log.join("log"), ready, log, std::process::id()).unwrap()
    }

    #[test]
    fn a_server_that_does_not_start_is_reported_in_its_own_words() {
        let folder = tempfile::tempdir().unwrap();
        let mut started = shell("echo cannot bind >&2; exit 3", Ready::Port(1), folder.path());
        let error = started.await_ready(Duration::from_secs(60)).unwrap_err().to_string();
        assert_eq!(error, "server on node1 has ended (exit status: 3): cannot bind");
        let mut started = shell("exec sleep 1000", Ready::Port(1), folder.path());
        let error = started.await_ready(Duration::ZERO).unwrap_err().to_string();
        assert_eq!(error, "server on node1 is not ready after 0 s: it said nothing");
        started.end();
    }

    #[test]
    fn one_that_is_killed_later_is_reported_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut started = shell("echo up; exec sleep 1000", Ready::Says("up".into()), folder.path());
        started.await_ready(Duration::from_secs(60)).unwrap();
        assert_eq!(started.failure(), None);
        started.child.kill().unwrap();
        while started.failure().is_none() {
            std::thread::sleep(LOOK);
        }
        assert_eq!(started.failure().unwrap(), "server on node1 has ended (signal: 9 (SIGKILL)): up");
        let mut done = shell("true", Ready::Ended, folder.path());
        done.await_ready(Duration::from_secs(60)).unwrap();
        assert_eq!(done.failure(), None);
    }
}
