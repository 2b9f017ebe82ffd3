//! `fishplate top`: traffic on the rails of running MPI programs.

use std::io::{IsTerminal, Write, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, poll, read};
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue};
use fishplate_rails::live::State;
use nix::unistd::Uid;

use crate::counters::hidden;
use crate::counters::live::{Row, Watch};
use crate::output::text;

/// Shows the traffic on the rails of running programs.
///
/// Shows rates, shares, round trips and retransmitted segments of all processes of this user on this machine, also of
/// those in testbeds and labs; of root, the processes of all users. `q` ends it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print one table and end (also where the output is no terminal)
    #[arg(long)]
    once: bool,

    /// Print a line of JSON at each interval instead of a table; with --once only one
    #[arg(long)]
    json: bool,

    /// Interval, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    every: f64,
}

const EXAMPLES: &str = "\
Examples:
  fishplate top
  fishplate top --once
  fishplate top --json --every 0.5 | head -n 20";

/// Processes write their pages every 0.1 s.
fn seconds(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok();
    value.filter(|value| (0.1..=3600.0).contains(value)).ok_or("allowed: 0.1 to 3600".into())
}

pub fn run(args: Args) -> Result<ExitCode> {
    let every = Duration::from_secs_f64(args.every);
    let mut watch = Watch::default();
    watch.look();
    if args.json || args.once || !stdout().is_terminal() {
        loop {
            sleep(every);
            let rows = watch.look();
            let text = if args.json { serde_json::to_string(&rows)? } else { text(&rows) };
            if let Err(error) = writeln!(stdout(), "{text}") {
                let end = error.kind() == std::io::ErrorKind::BrokenPipe;
                return if end { Ok(ExitCode::SUCCESS) } else { Err(error).context("cannot write") };
            }
            if args.once || !args.json {
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
    let screen = Screen::take()?;
    loop {
        screen.draw(&text(&watch.look()))?;
        if screen.wants_to_end(every)? {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// The terminal, until it is dropped.
struct Screen;

impl Screen {
    fn take() -> Result<Screen> {
        terminal::enable_raw_mode().context("cannot use the terminal")?;
        let screen = Screen;
        execute!(stdout(), EnterAlternateScreen, cursor::Hide).context("cannot use the terminal")?;
        Ok(screen)
    }

    /// The part of `text` that fits the terminal.
    fn draw(&self, text: &str) -> Result<()> {
        // Some terminals do not know their size.
        let (width, height) = terminal::size().ok().filter(|size| size.0 > 0 && size.1 > 0).unwrap_or((80, 24));
        let (lines, room) = (text.lines().count(), usize::from(height).saturating_sub(1));
        let mut out = stdout().lock();
        queue!(out, cursor::MoveTo(0, 0), Clear(ClearType::All))?;
        for line in text.lines().take(room) {
            let line: String = line.chars().take(usize::from(width)).collect();
            write!(out, "{line}\r\n")?;
        }
        let more = lines.saturating_sub(room);
        let note = if more > 0 { format!("{more} more lines; q ends") } else { "q ends".into() };
        write!(out, "{note}")?;
        Ok(out.flush()?)
    }

    /// Waits; true if the user has pressed q, Escape or Ctrl-C.
    fn wants_to_end(&self, wait: Duration) -> Result<bool> {
        let until = Instant::now() + wait;
        while poll(until.saturating_duration_since(Instant::now()))? {
            let Event::Key(key) = read()? else { continue };
            let interrupts = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            let ends = matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) || interrupts;
            if ends && key.kind != KeyEventKind::Release {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(stdout(), LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

fn text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return hidden::why_nothing_is_shown(Path::new("/proc"), Uid::effective().is_root());
    }
    let numbers =
        ["rank", "peers", "sent/s", "received/s", "share", "streams", "a flow", "port", "round trip", "resent"];
    let waits = rows.iter().any(|row| row.waits_for.is_some());
    let changed = rows.iter().any(|row| row.changed_frames > 0);
    let rare = changed.then_some("changed").into_iter().chain(waits.then_some("waits"));
    let titles = ["host", "program", "rail", "state"].into_iter().chain(numbers).chain(rare);
    let titles: Vec<&str> = titles.collect();
    let mut table = text::table(&titles, 4);
    for row in rows {
        let rate = |rate: Option<f64>| rate.map_or("-".into(), |rate| text::bytes(rate as u64));
        let waits = waits.then(|| match (&row.waits_for, row.waits_s) {
            (Some(peer), Some(seconds)) => format!("{seconds:.0} s for {peer}"),
            _ => "-".into(),
        });
        let cells = [
            row.host_label.clone(),
            row.program.clone(),
            row.rail.clone(),
            state(row.state).to_string(),
            row.rank.map_or_else(|| format!("pid {}", row.pid), |rank| rank.to_string()),
            row.peers.to_string(),
            rate(row.tx_rate),
            rate(row.rx_rate),
            row.share.map_or("-".into(), |share| format!("{:.0} %", share * 100.0)),
            row.streams.to_string(),
            rate(row.flow_rate.map(|rate| rate as f64)),
            rate(row.port_rate.map(|rate| rate as f64)),
            row.rtt_us.map_or("-".into(), |rtt| format!("{} us", text::thousands(rtt))),
            text::thousands(row.retransmitted_segments),
        ];
        let changed = changed.then(|| text::thousands(row.changed_frames));
        table.add_row(cells.into_iter().chain(changed).chain(waits));
    }
    table.to_string()
}

fn state(state: State) -> &'static str {
    match state {
        State::Up => "up",
        State::Connecting => "connecting",
        State::Failed => "failed",
        State::Idle => "idle",
        State::Ended => "ended",
    }
}
