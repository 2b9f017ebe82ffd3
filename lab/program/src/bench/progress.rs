//! Says what is being measured: a bar on a terminal, a line for each step elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use fishplate_guest::printable;
use indicatif::{ProgressBar, ProgressStyle};

use crate::tell;

/// How often the bar shows that time passes.
const TICK: Duration = Duration::from_millis(200);

/// Progress of a known number of steps.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Begins with none of `steps` done.
    pub fn start(steps: u64) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(steps);
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(TICK);
            bar
        });
        Progress { bar }
    }

    /// What is going on now.
    pub fn show(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(printable(what).into_owned());
        }
    }

    /// A step is done; `line` says so where there is no bar.
    pub fn done(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.inc(1),
            None => tell!("{line}"),
        }
    }

    /// A step failed; `line` stays above the bar.
    pub fn failed(&self, line: &str) {
        if let Some(bar) = &self.bar {
            bar.println(printable(line));
        }
        self.done(line);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
