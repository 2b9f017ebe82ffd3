//! Shows the progress of `fishplate setup`.

use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fishplate_guest::printable;
use indicatif::{ProgressBar, ProgressStyle};

use crate::say;

/// Says what happens: a line that changes on a terminal, lines elsewhere.
pub struct Progress {
    name: String,
    spinner: Option<ProgressBar>,
}

impl Progress {
    pub fn start(name: &str) -> Progress {
        let spinner = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {prefix}: {wide_msg}");
            let bar = ProgressBar::new_spinner().with_prefix(name.to_string());
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Progress { name: name.to_string(), spinner }
    }

    /// The present activity.
    pub fn step(&self, what: &str) {
        match &self.spinner {
            Some(bar) => bar.set_message(printable(what).into_owned()),
            None => say!("{}: {what}", self.name),
        }
    }

    /// Runs `command`, and shows its output as it comes; an error has all of its output.
    pub fn run(&self, mut command: Command) -> Result<()> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        let mut stderr = child.stderr.take();
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            if let Some(stderr) = &mut stderr {
                // An unreadable stream ends the display.
                let _ = stderr.read_to_string(&mut text);
            }
            text
        });
        let mut last = String::new();
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(bar) = &self.spinner {
                    bar.set_message(printable(&line).into_owned());
                }
                last = line;
            }
        }
        let status = child.wait().context("cannot wait for a child process")?;
        let errors = errors.join().unwrap_or_default();
        let errors = errors.trim();
        ensure!(status.success(), "{}", if errors.is_empty() { &last } else { errors });
        Ok(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.spinner {
            bar.finish_and_clear();
        }
    }
}
