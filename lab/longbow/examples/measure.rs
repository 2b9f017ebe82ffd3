//! How exactly rails are emulated here: rates, round trips, and what that costs.
//!
//! `cargo run --release -p fishplate-longbow --example measure -- [--seconds S] [nfqueue] [tap]`

// The tests use more of it.
#[allow(dead_code)]
#[path = "../tests/support/mod.rs"]
mod support;

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fishplate_longbow::Backend;
use fishplate_longbow::link::{Loss, Rate, Settings};

use support::Pair;
use support::traffic::{PAYLOAD_SHARE, Received, round_trips, streams};

/// Round trips for each figure.
const ROUND_TRIPS: usize = 500;
/// Between round trips, so that the link is idle for each.
const PAUSE: Duration = Duration::from_micros(500);

fn main() -> Result<()> {
    support::host::permit()?;
    let mut seconds = 3.0;
    let mut backends = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => seconds = args.next().and_then(|text| text.parse().ok()).context("--seconds SECONDS")?,
            "nfqueue" => backends.push(Backend::Nfqueue),
            "tap" => backends.push(Backend::Tap),
            other => bail!("unknown: {other}"),
        }
    }
    if backends.is_empty() {
        backends = vec![Backend::Nfqueue, Backend::Tap];
    }
    print_round_trips(&backends)?;
    for backend in backends {
        print_rates(backend, seconds)?;
    }
    Ok(())
}

fn settings(mbit: u64, delay_ns: u64) -> Settings {
    Settings { rate: Some(Rate::mbit(mbit)), delay_ns, ..Settings::default() }
}

fn print_round_trips(backends: &[Backend]) -> Result<()> {
    let address = SocketAddr::from((Pair::address_of_b(0), 6000));
    let plain = Figures::of(&round_trips(&Pair::new(None, &[Settings::default()])?, address, ROUND_TRIPS, PAUSE)?);
    println!("round trip of 4 bytes, idle, us: mean / p99; plain veth {:.0} / {:.0}", plain.mean_us, plain.p99_us);
    for backend in backends {
        for delay_us in [0, 100, 1_000, 10_000] {
            let mut pair = Pair::new(Some(*backend), &[settings(1000, delay_us * 1_000)])?;
            let found = Figures::of(&round_trips(&pair, address, ROUND_TRIPS, PAUSE)?);
            let status = pair.emulator().status(false)?;
            let late: Vec<String> =
                status.lanes.iter().map(|lane| format!("{:.0}", lane.lateness.mean_ns / 1e3)).collect();
            let bound = plain.mean_us + 2.0 * delay_us as f64 * 1.05 + 60.0;
            println!(
                "{backend:?} {delay_us} us each way: {:.0} / {:.0}, least {:.0} ({} {bound:.0}); frames late by {} us",
                found.mean_us,
                found.p99_us,
                found.least_us,
                if found.mean_us <= bound { "within" } else { "BEYOND" },
                late.join(" and ")
            );
        }
    }
    Ok(())
}

fn print_rates(backend: Backend, seconds: f64) -> Result<()> {
    println!("{backend:?}: rate on the wire in Mbit/s, asked and measured by TCP for {seconds} s; share of a core");
    let loss = Loss::Independent(0.0001);
    for (delay_us, rails) in [
        (0, vec![100]),
        (0, vec![250]),
        (0, vec![1000]),
        (0, vec![1000, 250]),
        (0, vec![1000, 1000]),
        (1_000, vec![100]),
        (1_000, vec![250]),
        (1_000, vec![1000]),
        (1_000, vec![1000, 250]),
        (1_000, vec![1000, 1000]),
        (10_000, vec![1000]),
    ] {
        let asked: Vec<Settings> = rails.iter().map(|mbit| settings(*mbit, delay_us * 1_000)).collect();
        print_rate(backend, &format!("{delay_us} us"), &asked, seconds)?;
    }
    print_rate(backend, "100 us, loss 0.01 %", &[Settings { loss, ..settings(1000, 100_000) }], seconds)?;
    print_rate(backend, "unlimited", &[Settings::default()], seconds)
}

fn print_rate(backend: Backend, title: &str, asked: &[Settings], seconds: f64) -> Result<()> {
    let mut pair = Pair::new(Some(backend), asked)?;
    let mut before = None;
    let received = streams(&mut pair, asked.len(), 1.0, seconds, |pair| {
        before = Some(pair.emulator().status(true)?);
        Ok(())
    })?;
    let after = pair.emulator().status(false)?;
    let before = before.context("measured")?;
    let rates = asked.iter().zip(&received).map(|(asked, received): (&Settings, &Received)| {
        let wire = received.mbit() / PAYLOAD_SHARE;
        match asked.rate {
            Some(rate) => {
                let asked = rate.bits_per_s() as f64 / 1e6;
                format!("{asked:.0} -> {wire:.1} ({:+.1} %)", (wire / asked - 1.0) * 100.0)
            }
            None => format!("{wire:.0}"),
        }
    });
    let rates: Vec<String> = rates.collect();
    let lanes = || after.lanes.iter().step_by(2);
    println!(
        "  {title}: {}; core {:.1} %, {:.0} wake-ups/s, dropped {}, lost {}, mishaps {}, late mean {:.0} p99 {:.0} us",
        rates.join(", "),
        after.core_share_since(&before) * 100.0,
        (after.wakeups - before.wakeups) as f64 / (after.running_s - before.running_s),
        lanes().map(|lane| lane.counters.dropped_frames).sum::<u64>(),
        lanes().map(|lane| lane.counters.lost_frames).sum::<u64>(),
        after.lanes.iter().map(|lane| lane.mishaps).sum::<u64>(),
        lanes().map(|lane| lane.lateness.mean_ns / 1e3).fold(0.0, f64::max),
        lanes().map(|lane| lane.lateness.p99_ns as f64 / 1e3).fold(0.0, f64::max),
    );
    Ok(())
}

struct Figures {
    least_us: f64,
    mean_us: f64,
    p99_us: f64,
}

impl Figures {
    fn of(sorted_ns: &[u64]) -> Figures {
        Figures {
            least_us: sorted_ns[0] as f64 / 1e3,
            mean_us: sorted_ns.iter().sum::<u64>() as f64 / sorted_ns.len() as f64 / 1e3,
            p99_us: sorted_ns[sorted_ns.len() * 99 / 100] as f64 / 1e3,
        }
    }
}
