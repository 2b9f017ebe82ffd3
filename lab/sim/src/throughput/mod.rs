//! Goodput in simulation: a stream of long messages between two hosts over two rails, over delay, ratio of the rails, loss
//! and policy; exchanges both ways; and exchanges in a fat tree. The table is kept as text, so that a change shows as a changed line.

mod inner_links;
mod patterns;

use std::fmt;

use fishplate_engine::Config;
use fishplate_engine::policy::Striping;
use fishplate_link::{Loss, Rate, Settings};

use crate::events::Duration;
use crate::transport::{Rail, Setup, Socket, Stream, goodput};

/// Rate of the faster rail.
const FAST_MBIT: u64 = 1000;
/// One way.
const DELAYS: [Duration; 4] = [Duration::us(10), Duration::us(100), Duration::ms(1), Duration::ms(10)];
/// How many times slower the other rail is.
const RATIOS: [u64; 3] = [1, 4, 10];
/// Share of segments that get lost.
const LOSSES: [f64; 2] = [0.0, 0.001];
/// Messages of the stream: long enough to be cut, and enough of them under way that the next is there when one ends.
const STREAM: Stream =
    Stream { message_bytes: 1 << 20, under_way: 16, measured: Duration::s(1), before: Duration::ms(300) };

fn policies() -> [(&'static str, Striping); 5] {
    [
        ("binding", Striping::Binding),
        ("even", Striping::Even),
        ("weighted", Striping::Weighted(Vec::new())),
        ("adaptive", Striping::Adaptive { alpha: 0.25 }),
        ("earliest", Striping::Earliest),
    ]
}

/// A table as text: lines of comment, then titles and rows, all to the right.
struct Table {
    about: &'static str,
    /// Of columns; the last one also of those after it.
    widths: &'static [usize],
    /// Titles first.
    rows: Vec<Vec<String>>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about)?;
        for row in &self.rows {
            let width = |at: usize| self.widths[at.min(self.widths.len() - 1)];
            let cells = row.iter().enumerate().map(|(at, cell)| format!("{cell:>0$}", width(at)));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join(" "))?;
        }
        Ok(())
    }
}

/// A row of some words and more cells.
fn row<const N: usize>(words: [String; N], cells: impl Iterator<Item = String>) -> Vec<String> {
    words.into_iter().chain(cells).collect()
}

/// The tables: a line for each delay, ratio and loss, goodput in percent of what both rails together can carry; one for
/// each set of rails and size of messages that are exchanged; and one for each number of inner links of a fat tree.
pub fn table() -> String {
    format!("{}\n{}\n{}", rails(), patterns::table(), inner_links::table())
}

fn rails() -> Table {
    let titles = policies().map(|(name, _)| name.to_string());
    let mut rows = vec![row(["delay_us", "rails", "loss"].map(String::from), titles.into_iter())];
    for delay in DELAYS {
        for ratio in RATIOS {
            for loss in LOSSES {
                let cells =
                    policies().into_iter().map(|(_, striping)| percent(delay, ratio, loss, striping).to_string());
                rows.push(row([(delay.0 / 1000).to_string(), format!("1:{ratio}"), loss.to_string()], cells));
            }
        }
    }
    let about = "# Goodput of a stream of 1 MiB messages, in percent of the sum of both rails' rates\n";
    Table { about, widths: &[8, 7, 6, 9], rows }
}

/// A whole number: decimals are not significant, and would change with any modification.
fn percent(delay: Duration, ratio: u64, loss: f64, striping: Striping) -> u64 {
    let rates = [FAST_MBIT, FAST_MBIT / ratio];
    let bytes_per_s = goodput(setup(delay, rates, loss, striping), STREAM);
    let sum = (rates.iter().sum::<u64>() * 125_000) as f64;
    (100.0 * bytes_per_s / sum).round() as u64
}

fn setup(delay: Duration, rates: [u64; 2], loss: f64, striping: Striping) -> Setup {
    let loss = Loss::Independent(loss);
    let rail = |mbit| Rail {
        link: Settings { rate: Some(Rate::mbit(mbit)), delay_ns: delay.0, loss, ..Settings::default() },
        rate_known: true,
    };
    let config = Config { striping, ..Config::default() };
    // As the driver's sockets are, with the kernel's usual limit of 6 MiB for a window.
    let socket = Socket {
        unsent_bytes: 128 << 10,
        window_bytes: 6 << 20,
        segment_bytes: 64 << 10,
        budget_bytes: Socket::BUDGET_BYTES,
    };
    Setup::quiet_pair(rates.map(rail).to_vec(), config, socket)
}
