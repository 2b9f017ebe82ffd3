//! Starting another program and waiting for it, while signals come.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;

/// How long a program may take to end after a signal before it is killed.
pub const GRACE: Duration = Duration::from_secs(2);
/// Polling interval for the end of a process.
const LOOK: Duration = Duration::from_millis(200);
/// Polling interval for a process that ends soon.
const LOOK_SOON: Duration = Duration::from_millis(5);

/// `si_code` of a signal from another process. The terminal, in contrast, signals the child as well.
const SI_USER: i32 = 0;

/// Signals that are passed on.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Signals that end this program, taken as events from now on. What [`spawn`] starts gets them as usual.
pub struct Signals {
    fd: SignalFd,
    /// Signals of [`ENDING`] that came while [`spawn`] had them unblocked. (Programs do not inherit a handler.)
    meanwhile: [Arc<AtomicBool>; 3],
}

/// How a program ended.
pub struct Ended {
    pub status: ExitStatus,
    /// The first signal that this program got while it waited.
    pub signal: Option<Signal>,
    /// Whether it exceeded its time limit.
    pub late: bool,
}

/// Starts `command`, with no signal blocked; `name` is what the user called it.
pub fn spawn(command: &mut Command, name: &OsStr) -> Result<Child> {
    use std::io::ErrorKind::{NotFound, PermissionDenied};
    let name = name.to_string_lossy();
    // A child inherits the blocked signals. What comes just now is noted, if [`Signals::take`] was called before.
    let blocked = SigSet::thread_get_mask().context("cannot read the signal mask")?;
    SigSet::all().thread_unblock().context("cannot unblock signals")?;
    let spawned = command.spawn();
    blocked.thread_set_mask().context("cannot block signals")?;
    match spawned {
        Ok(child) => Ok(child),
        Err(e) if e.kind() == NotFound => bail!("command not found: {name}"),
        Err(e) if e.kind() == PermissionDenied => bail!("cannot run {name}: permission denied"),
        Err(e) => Err(e).with_context(|| format!("cannot run {name}")),
    }
}

/// Runs `command` to its end and returns what it has printed; it is killed after `limit`.
pub fn output_within(mut command: Command, limit: Duration) -> Result<Output> {
    let name = command.get_program().to_owned();
    let mut child = spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()), &name)?;
    let out = child.stdout.take().map(read_all);
    let err = child.stderr.take().map(read_all);
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait().context("cannot wait for a child process")? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill().context("cannot kill a child process")?;
            child.wait().context("cannot wait for a child process")?;
            bail!("{} is not done after {} s", name.to_string_lossy(), limit.as_secs());
        }
        thread::sleep(LOOK_SOON);
    };
    // Background processes that it left may keep the pipes open.
    let text =
        |read: Option<Receiver<Vec<u8>>>| read.and_then(|read| read.recv_timeout(GRACE).ok()).unwrap_or_default();
    Ok(Output { status, stdout: text(out), stderr: text(err) })
}

fn read_all(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // Output before the error is valid.
        let _ = pipe.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// Turns this process into `command`.
pub fn become_command(command: &[OsString]) -> Result<Infallible> {
    // The parent may have blocked signals to receive them as events, and programs inherit blocked signals.
    SigSet::all().thread_unblock().context("cannot unblock signals")?;
    use std::io::ErrorKind::{NotFound, PermissionDenied};
    let error = Command::new(&command[0]).args(&command[1..]).exec();
    let name = command[0].to_string_lossy();
    match error.kind() {
        NotFound => bail!("command not found: {name}"),
        PermissionDenied => bail!("cannot run {name}: permission denied"),
        _ => Err(error).with_context(|| format!("cannot run {name}")),
    }
}

impl Signals {
    /// Takes them. To be called before any thread is started.
    pub fn take() -> Result<Signals> {
        let mut set = SigSet::empty();
        ENDING.into_iter().chain([Signal::SIGCHLD]).for_each(|signal| set.add(signal));
        set.thread_block().context("cannot block signals")?;
        let fd = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .context("cannot receive signals")?;
        let meanwhile: [Arc<AtomicBool>; 3] = Default::default();
        for (signal, flag) in ENDING.into_iter().zip(&meanwhile) {
            signal_hook::flag::register(signal as i32, flag.clone()).context("cannot receive signals")?;
        }
        Ok(Signals { fd, meanwhile })
    }

    /// Waits for `child`, and passes on what it would not get by itself. With `grace`, kills it that long after a signal.
    pub fn wait(&self, child: &mut Child, grace: Option<Duration>) -> Result<Ended> {
        self.wait_at_most(child, grace, Duration::MAX)
    }

    /// As [`Signals::wait`], and ends `child` like a signal would after `limit`.
    pub fn wait_at_most(&self, child: &mut Child, grace: Option<Duration>, limit: Duration) -> Result<Ended> {
        self.watch(child, grace, limit, &mut || Ok(LOOK))
    }

    /// As [`Signals::wait_at_most`], and calls `look` several times a second; sooner, if it says after which time. Its
    /// failure ends `child` and is returned.
    pub fn watch(
        &self,
        child: &mut Child,
        grace: Option<Duration>,
        limit: Duration,
        look: &mut dyn FnMut() -> Result<Duration>,
    ) -> Result<Ended> {
        let start = Instant::now();
        let mut first = None;
        let mut deadline = None;
        let mut late = false;
        loop {
            let pause = match look() {
                Ok(pause) => pause.min(LOOK),
                Err(error) => {
                    // It may have ended by itself; either way it is over.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(error);
                }
            };
            if let Some(status) = child.try_wait().context("cannot wait for a child process")? {
                return Ok(Ended { status, signal: first, late });
            }
            if !late && start.elapsed() > limit {
                late = true;
                deadline = deadline.or(Some(Instant::now() + GRACE));
                let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
            }
            if let Some(signal) = self.pass_on(child, pause)? {
                first.get_or_insert(signal);
                deadline = deadline.or(grace.map(|grace| Instant::now() + grace));
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                child.kill().context("cannot kill a child process")?;
            }
        }
    }

    /// Sleeps until a signal comes, but not longer than `pause`.
    fn pass_on(&self, child: &Child, pause: Duration) -> Result<Option<Signal>> {
        let mut polled = [PollFd::new(self.fd.as_fd(), PollFlags::POLLIN)];
        // SIGCHLD wakes this up; the limit covers the deadline, and what else has to be looked at. Rounded up, or the
        // last millisecond would be spent busily.
        let pause = u16::try_from(pause.as_micros().div_ceil(1000)).unwrap_or(u16::MAX);
        let _ = nix::poll::poll(&mut polled, PollTimeout::from(pause));
        let mut found = None;
        for (signal, flag) in ENDING.into_iter().zip(&self.meanwhile) {
            if flag.swap(false, Ordering::Relaxed) {
                found = Some(signal);
                let _ = kill(Pid::from_raw(child.id() as i32), signal);
            }
        }
        while let Some(info) = self.fd.read_signal().context("cannot read signals")? {
            let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else { continue };
            if signal == Signal::SIGCHLD {
                continue;
            }
            found = Some(signal);
            if info.ssi_code == SI_USER {
                // It may have ended meanwhile; the next try_wait says so.
                let _ = kill(Pid::from_raw(child.id() as i32), signal);
            }
        }
        Ok(found)
    }
}

impl Ended {
    /// Exit status as reported by a shell: the code, or 128 plus the signal.
    pub fn code(&self) -> u8 {
        match self.signal {
            Some(signal) => 128 + signal as u8,
            None => self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0)) as u8,
        }
    }

    /// That code, for the end of this process.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_returned_and_a_program_past_its_time_is_killed() {
        let shell = |line: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", line]);
            command
        };
        let output = output_within(shell("echo a; echo b >&2; exit 3"), Duration::from_secs(60)).unwrap();
        assert_eq!((output.status.code(), &output.stdout[..], &output.stderr[..]), (Some(3), &b"a\n"[..], &b"b\n"[..]));
        let error = output_within(shell("exec sleep 1000"), Duration::from_millis(20)).unwrap_err();
        assert!(error.to_string().contains("sh is not done after 0 s"), "{error}");
    }
}
