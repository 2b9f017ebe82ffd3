//! Goodput in simulation: a stream of long messages between two hosts over two rails, over delay, ratio of the rails, loss
//! and policy; exchanges both ways; and exchanges in a fat tree. The table is kept as text, so that a change shows as a changed line.

mod inner_links;
mod patterns;

use std::fmt::Write;

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

/// The tables: a line for each delay, ratio and loss, goodput in percent of what both rails together can carry; one for
/// each set of rails and size of messages that are exchanged; and one for each number of inner links of a fat tree.
pub fn table() -> String {
    let mut text =
        String::from("# Goodput of a stream of 1 MiB messages, in percent of the sum of both rails' rates\n");
    let _ = write!(text, "{:>8} {:>7} {:>6}", "delay_us", "rails", "loss");
    policies().iter().for_each(|(name, _)| {
        let _ = write!(text, " {name:>9}");
    });
    text.push('\n');
    for delay in DELAYS {
        for ratio in RATIOS {
            for loss in LOSSES {
                let _ = write!(text, "{:>8} {:>7} {:>6}", delay.0 / 1000, format!("1:{ratio}"), loss);
                for (_, striping) in policies() {
                    let _ = write!(text, " {:>9}", percent(delay, ratio, loss, striping));
                }
                text.push('\n');
            }
        }
    }
    text.push('\n');
    patterns::append(&mut text);
    text.push('\n');
    inner_links::append(&mut text);
    text
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
