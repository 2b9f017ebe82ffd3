//! Another host, examined by this program there.
//!
//! The two talk in lines: here an [`Assignment`], there [`HostFacts`]; here the offers of other hosts, there what came of
//! trying them. Lines from there begin with [`MARK`], as login scripts may print others. It ends with its input.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::Child;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fishplate_rails::trial::Offer;
use fishplate_rails::trial::path::PairTrial;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::facts::{self, Assignment, HostFacts};
use super::remote_shell::RemoteShell;
use crate::say;
use crate::system::child_process;
use crate::system::programs::shell_quote;

/// Prefix of the lines written by this program on the remote host.
const MARK: &str = "fishplate-doctor ";
/// Behind the mark: which program there is.
const IS: &str = "is ";
/// Behind the mark: there is none.
const ABSENT: &str = "absent";
/// How long a host may take to look at itself: its MPI may take half a minute to fail.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to try the ways to one other host.
const PATIENCE_A_HOST: Duration = Duration::from_secs(30);
/// How much of a remote shell's complaints is kept.
const MAX_STDERR_BYTES: u64 = 4096;

/// Why a host cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unexamined {
    /// No program can be started there.
    NoShell {
        /// The remote shell.
        program: String,
        /// Its output.
        said: String,
    },
    /// Fishplate is not there.
    Absent,
    /// This one is, and understands something else.
    Other {
        /// Its version output.
        program: String,
        /// Other output.
        said: String,
    },
    /// It does not answer.
    Silent(Duration),
}

/// A host on which this program runs.
pub struct RemoteHost {
    child: Child,
    lines: Receiver<String>,
    said: Receiver<Vec<u8>>,
    shell: String,
    program: Option<String>,
}

impl RemoteHost {
    /// Starts the program there, and has it examine the host.
    pub fn start(
        shell: &RemoteShell,
        host: &str,
        assignment: &Assignment,
    ) -> Result<(RemoteHost, HostFacts), Unexamined> {
        let no_shell = |error: anyhow::Error| Unexamined::NoShell {
            program: shell.program().to_string(),
            said: format!("{error:#}"),
        };
        let mut started = RemoteHost::spawn(shell, host).map_err(no_shell)?;
        let facts = started.ask(assignment, PATIENCE)?;
        Ok((started, facts))
    }

    fn spawn(shell: &RemoteShell, host: &str) -> Result<RemoteHost> {
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = shell.command(host, &script(&own.to_string_lossy()));
        let mut child = child_process::spawn(&mut command, shell.program().as_ref())?;
        let stdout = child.stdout.take().context("no output")?;
        let mut stderr = child.stderr.take().context("no error output")?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            // Lines that are not UTF-8 are ignored. Reading ends when the receiver is dropped.
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if line.strip_prefix(MARK).is_some_and(|line| sender.send(line.to_string()).is_err()) {
                    break;
                }
            }
        });
        let (sender, said) = mpsc::channel();
        thread::spawn(move || {
            let (mut some, mut kept) = ([0; 512], stderr.by_ref().take(MAX_STDERR_BYTES));
            while let Ok(length @ 1..) = kept.read(&mut some) {
                if sender.send(some[..length].to_vec()).is_err() {
                    break;
                }
            }
            drop(sender);
            // The rest is read as well, so that who says it does not have to wait.
            let _ = io::copy(&mut stderr, &mut io::sink());
        });
        Ok(RemoteHost { child, lines, said, shell: shell.program().to_string(), program: None })
    }

    /// Has it try the ways to other hosts.
    pub fn try_ways(&mut self, offers: &[(String, Offer)]) -> Result<Vec<(String, Vec<PairTrial>)>, Unexamined> {
        self.ask(&offers, PATIENCE_A_HOST * (1 + offers.len() as u32))
    }

    fn ask<T: DeserializeOwned>(&mut self, request: &impl Serialize, patience: Duration) -> Result<T, Unexamined> {
        let line = serde_json::to_string(request).unwrap_or_default() + "\n";
        if let Some(stdin) = &mut self.child.stdin {
            // If it does not read, it has ended, and that shows below.
            let _ = stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush());
        }
        let deadline = Instant::now() + patience;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line == ABSENT => return Err(Unexamined::Absent),
                Ok(line) => match line.strip_prefix(IS) {
                    Some(program) => self.program = Some(program.to_string()),
                    None => return serde_json::from_str(&line).map_err(|error| self.other(error.to_string())),
                },
                Err(RecvTimeoutError::Timeout) => return Err(Unexamined::Silent(patience)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
            }
        }
    }

    /// It has ended instead of answering.
    fn ended(&mut self) -> Unexamined {
        self.end();
        let mut said = Vec::new();
        // Background processes that it left may keep its error output open.
        let deadline = Instant::now() + child_process::GRACE;
        while let Ok(some) = self.said.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            said.extend(some);
        }
        let said = String::from_utf8_lossy(&said);
        let said = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        match self.program {
            Some(_) => self.other(said),
            None => Unexamined::NoShell { program: self.shell.clone(), said },
        }
    }

    /// Closes its input and kills it. Killing a hanging remote shell is harmless.
    fn end(&mut self) {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + child_process::GRACE;
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn other(&self, said: String) -> Unexamined {
        Unexamined::Other { program: self.program.clone().unwrap_or_default(), said }
    }
}

impl Drop for RemoteHost {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts the program at this program's path, as on hosts with a common file system, or the one in PATH.
fn script(own: &str) -> String {
    format!(
        "for program in {} fishplate; do \
         version=$(\"$program\" --version 2>/dev/null) || continue; \
         echo \"{MARK}{IS}$version\"; exec \"$program\" examine-host; \
         done; echo \"{MARK}{ABSENT}\"",
        shell_quote(own)
    )
}

/// Main function of `fishplate examine-host`, which runs on the remote host.
pub fn examine() -> Result<()> {
    let mut lines = std::io::stdin().lines();
    let mut request = || lines.next().transpose().context("cannot read the request");
    let Some(assignment) = request()? else { return Ok(()) };
    let assignment: Assignment = serde_json::from_str(&assignment).context("cannot read the request")?;
    let (facts, here) = facts::gather(&assignment)?;
    answer(&facts)?;
    while let Some(offers) = request()? {
        let offers: Vec<(String, Offer)> = serde_json::from_str(&offers).context("cannot read the request")?;
        answer(&here.try_ways(&offers))?;
    }
    Ok(())
}

fn answer(answer: &impl Serialize) -> Result<()> {
    say!("{MARK}{}", serde_json::to_string(answer)?);
    std::io::stdout().flush().context("cannot answer")
}
