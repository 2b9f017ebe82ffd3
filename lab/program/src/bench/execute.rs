//! Running one program to its end, or to the end of its time, with its output read as it comes.

use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::Signal;

use crate::system::child_process::{GRACE, Signals, spawn};
use crate::system::output_file::create;

/// How many of the last lines of a program that failed are reported.
const LAST_LINES: usize = 6;
/// How much of them, in characters from their end.
const LAST_CHARACTERS: usize = 800;

/// The user wants an end.
#[derive(Debug)]
pub struct Interrupted(Signal);

/// Runs programs, whose outputs are files in a folder.
pub struct Executor<'a> {
    /// Signals that interrupt it.
    pub signals: &'a Signals,
    /// Where the outputs of one program are, until the next is run.
    pub folder: PathBuf,
}

/// Receives the output of a program.
pub trait Listener {
    /// A line of its output, as it comes.
    fn line(&mut self, line: &str) -> Result<()>;

    /// Called several times a second. After which time to call it again, if sooner.
    fn tick(&mut self) -> Result<Duration> {
        Ok(Duration::MAX)
    }
}

impl<F: FnMut(&str) -> Result<()>> Listener for F {
    fn line(&mut self, line: &str) -> Result<()> {
        self(line)
    }
}

impl Executor<'_> {
    /// Runs `command`, called `name`, for at most `limit`, and passes its output to `listener`. The inner result says in words why
    /// it failed.
    ///
    /// # Errors
    /// [`Interrupted`], and when outputs cannot be kept or `listener` fails.
    pub fn run(
        &self,
        name: &str,
        mut command: Command,
        limit: Duration,
        listener: &mut dyn Listener,
    ) -> Result<Result<(), String>> {
        let (out, err) = (self.folder.join("out"), self.folder.join("err"));
        command.stdin(Stdio::null()).stdout(create(&out)?).stderr(create(&err)?);
        let mut follower = Follower::open(&out)?;
        let mut child = spawn(&mut command, name.as_ref())?;
        let ended = self.signals.watch(&mut child, Some(GRACE), limit, &mut || {
            follower.follow(listener)?;
            listener.tick()
        })?;
        follower.follow(listener)?;
        if let Some(signal) = ended.signal {
            return Err(Interrupted(signal).into());
        }
        if ended.late {
            return Ok(Err(with_words(format!("{name} took more than {} s", limit.as_secs_f64()), &err, &out)));
        }
        if ended.status.success() {
            return Ok(Ok(()));
        }
        let how = match (ended.status.code(), ended.status.signal()) {
            (Some(code), _) => format!("{name} ended with exit code {code}"),
            (None, signal) => format!("{name} was ended by signal {}", signal.unwrap_or(0)),
        };
        Ok(Err(with_words(how, &err, &out)))
    }
}

impl Interrupted {
    /// What a shell would report.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(128 + self.0 as u8)
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted ({})", self.0)
    }
}

impl std::error::Error for Interrupted {}

/// Lines of a file that another process writes.
struct Follower {
    file: File,
    begun: Vec<u8>,
}

impl Follower {
    fn open(path: &Path) -> Result<Follower> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Follower { file, begun: Vec::new() })
    }

    /// Hands on the lines that are complete since the last time.
    fn follow(&mut self, listener: &mut dyn Listener) -> Result<()> {
        self.file.read_to_end(&mut self.begun).context("cannot read what a program says")?;
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let whole: Vec<u8> = self.begun.drain(..=end).collect();
            listener.line(String::from_utf8_lossy(&whole).trim_end())?;
        }
        Ok(())
    }
}

/// `how`, and the last words on the error output, or on the output where there are none.
fn with_words(how: String, err: &Path, out: &Path) -> String {
    let last_output = |path: &Path| {
        let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        last_words(&text)
    };
    match [last_output(err), last_output(out)].into_iter().find(|words| !words.is_empty()) {
        Some(words) => format!("{how}: {words}"),
        None => how,
    }
}

/// The end of a text; before it what Fishplate has said last, whose reason an MPI's lines may follow.
fn last_words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(LAST_LINES));
    let tail: Vec<char> = last.join(" | ").chars().collect();
    let tail: String = tail[tail.len().saturating_sub(LAST_CHARACTERS)..].iter().collect();
    match before.iter().rfind(|line| line.starts_with("fishplate: ")) {
        Some(reason) => format!("{reason} | {tail}"),
        None => tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_though_many_lines_follow_it() {
        let trace: Vec<String> = (0..30).map(|at| format!("frame {at}")).collect();
        let words = last_words(&format!("fishplate: no such rail\n\n{}\n", trace.join("\n")));
        assert!(words.starts_with("fishplate: no such rail | ") && words.ends_with("frame 29"), "{words}");
        assert_eq!(last_words("one\ntwo\n"), "one | two");
        assert_eq!(last_words("\n"), "");
    }
}
