//! The process that a lab lives in: the first of its namespaces, driven over a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::change::{Change, Target, parse_change};
use super::control::{DescribedHost, DescribedLink, Description, Request, Response, Status};
use super::measure::Measured;
use super::registry::Slot;
use super::schedule::{RunningSchedule, Schedule};
use super::{Lab, Topology, enter};
use crate::storage::Storage;
use crate::tell;

/// How long a command may take to ask: it does so at once.
const ASKING: Duration = Duration::from_secs(1);
/// Longest question: a schedule of a few thousand changes.
const MAX_QUESTION_BYTES: u64 = 1 << 18;

/// A lab and its scheduled changes.
struct Daemon {
    lab: Lab,
    listener: UnixListener,
    signals: SignalFd,
    measured: Vec<Measured>,
    scheduled: RunningSchedule,
}

/// Is a lab, until it gets a request to end or a signal. Says "ready" on standard output once it is up.
pub fn run(slot: &Slot, topology: &Topology) -> Result<()> {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD] {
        set.add(signal);
    }
    set.thread_block().context("cannot block signals")?;
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    let signals = SignalFd::with_flags(&set, flags).context("cannot receive signals")?;
    let lab = Lab::build(topology, &slot.folder)?;
    // Writes the files that commands find.
    lab.environment()?;
    let listener = UnixListener::bind(slot.socket()).context("cannot listen")?;
    listener.set_nonblocking(true).context("cannot listen")?;
    let mut daemon = Daemon { lab, listener, signals, measured: Vec::new(), scheduled: RunningSchedule::default() };
    enter::untie()?;
    writeln!(std::io::stdout(), "ready").context("the command that started this lab has ended")?;
    daemon.serve()
}

impl Daemon {
    fn serve(&mut self) -> Result<()> {
        loop {
            // A millisecond more, or it would wake up just before.
            let wait = self.scheduled.wait().map_or(PollTimeout::NONE, |due| {
                PollTimeout::try_from(due.as_millis() as u64 + 1).unwrap_or(PollTimeout::MAX)
            });
            let mut polled = [
                PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut polled, wait) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error).context("cannot wait"),
            }
            while let Some(info) = self.signals.read_signal().context("cannot read signals")? {
                if info.ssi_signo != Signal::SIGCHLD as u32 {
                    return Ok(());
                }
            }
            // Orphaned processes in these namespaces are reaped here.
            while waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
            self.play();
            while let Ok((stream, _)) = self.listener.accept() {
                match self.converse(stream) {
                    Ok(true) => return Ok(()),
                    Ok(false) => {}
                    Err(error) => tell!("a command could not be answered: {error:#}"),
                }
            }
        }
    }

    /// Answers one question. True if that was the last.
    fn converse(&mut self, mut stream: UnixStream) -> Result<bool> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(ASKING))?;
        stream.set_write_timeout(Some(ASKING))?;
        let mut line = String::new();
        BufReader::new((&stream).take(MAX_QUESTION_BYTES)).read_line(&mut line)?;
        let request: Request = serde_json::from_str(&line).context("not a question")?;
        let last = matches!(request, Request::Down);
        let response = self.answer(request).unwrap_or_else(|error| Response::Error(format!("{error:#}")));
        let mut line = serde_json::to_vec(&response)?;
        line.push(b'\n');
        // At the end the peer may have exited.
        let written = stream.write_all(&line).context("the command is gone");
        if last { Ok(true) } else { written.map(|()| false) }
    }

    fn answer(&mut self, request: Request) -> Result<Response> {
        Ok(match request {
            Request::Describe => {
                Response::Description(Description { hosts: self.hosts(), environment: self.environment()? })
            }
            Request::Set(changes) => Response::Done(self.set(&changes)?),
            Request::Schedule(text) => Response::Done(self.schedule(&text)?),
            Request::Status => Response::Status(Box::new(self.status())),
            Request::Measure(seconds) => {
                // The share of processor time counts from here on.
                self.lab.emulator_cpu();
                self.measured = self.lab.measure(seconds)?;
                Response::Measured { rails: self.measured.clone(), emulator_cpu: self.lab.emulator_cpu() }
            }
            Request::Down => Response::Done(Vec::new()),
        })
    }

    fn environment(&self) -> Result<Vec<(String, String)>> {
        let text = |(name, value): (String, std::ffi::OsString)| match value.into_string() {
            Ok(value) => Ok((name, value)),
            Err(value) => bail!("{} is not UTF-8", value.display()),
        };
        self.lab.environment()?.into_iter().map(text).collect()
    }

    fn hosts(&self) -> Vec<DescribedHost> {
        let topology = self.lab.topology();
        let cluster_of = |index: usize| {
            let found = (0..topology.clusters.len()).find(|cluster| topology.hosts_of(*cluster).contains(&index));
            found.map(|cluster| topology.clusters[cluster].name.clone()).unwrap_or_default()
        };
        let describe = |(index, host): (usize, &crate::testbed::host::Host)| DescribedHost {
            name: host.name.clone(),
            cluster: cluster_of(index),
            proc_id: host.proc_id(),
            addresses: (0..self.lab.rails()).map(|rail| host.rail_address(rail).to_string()).collect(),
        };
        self.lab.hosts().iter().enumerate().map(describe).collect()
    }

    /// Makes changes, all or none as far as words can be wrong.
    fn set(&mut self, words: &[String]) -> Result<Vec<String>> {
        let changes = words.iter().map(|word| parse_change(word).map_err(anyhow::Error::msg));
        let changes: Vec<(Target, Change)> = changes.collect::<Result<_>>()?;
        changes.iter().try_for_each(|(target, _)| self.lab.find(target).map(drop))?;
        let mut done = Vec::new();
        for (target, change) in &changes {
            self.lab.set(target, change)?;
            done.push(format!("{target} {change}"));
        }
        Ok(done)
    }

    fn schedule(&mut self, text: &str) -> Result<Vec<String>> {
        let schedule: Schedule = text.parse().map_err(anyhow::Error::msg)?;
        schedule.entries.iter().try_for_each(|entry| self.lab.find(&entry.target).map(drop))?;
        self.scheduled = schedule.begin();
        Ok(vec![format!("{} changes to come", self.scheduled.left())])
    }

    /// Makes the changes that are due.
    fn play(&mut self) {
        while let Some(entry) = self.scheduled.due() {
            match self.lab.set(&entry.target, &entry.change) {
                Ok(()) => tell!("schedule: {} {}", entry.target, entry.change),
                Err(error) => tell!("schedule: {error:#}"),
            }
        }
    }

    fn status(&mut self) -> Status {
        let emulator_cpu = self.lab.emulator_cpu();
        let (emulated, emulator_error) = match self.lab.emulator_status(false) {
            Ok(status) => (status, None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        let storage_failures = self.lab.storage_failures();
        let links = self.lab.links.iter().map(|link| DescribedLink {
            name: link.name.clone(),
            asked: link.asked,
            up: link.up,
            emulated: self.lab.is_emulated(link),
        });
        Status {
            hosts: self.hosts(),
            links: links.collect(),
            shaping: self.lab.shaping().into(),
            notes: self.lab.notes().to_vec(),
            measured: self.measured.clone(),
            emulated,
            emulator_cpu,
            emulator_error,
            storage: self.lab.storage().map(Storage::shown),
            storage_failures,
            scheduled: self.scheduled.left(),
        }
    }
}
