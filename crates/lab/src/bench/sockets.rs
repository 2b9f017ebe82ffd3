//! Plain sockets on an emulated link: their server, what they measure of the rails, and multipath TCP.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::Deserialize;

use super::emulated::{Emulated, Surroundings};
use super::execute::Executor;
use crate::demo::stream;
use crate::lab::Lab;
use crate::record::{self, RoundTrip};
use crate::supervise::Signals;
use crate::testbed::rail_name;

/// How long a rail is measured for each of its values, in seconds.
const RATE_SECONDS: f64 = 0.5;
const ROUND_TRIP_SECONDS: &str = "0.25";
/// How long that may take: a hundred times as long is a rail that carries nothing.
const LIMIT: Duration = Duration::from_secs(60);
/// More paths than any link has rails.
const MOST_PATHS: &str = "8";

/// What is read of a line of `sockets latency`.
#[derive(Deserialize)]
struct Latency {
    percentiles: Percentiles,
}

/// Of half round trips, in microseconds.
#[derive(Deserialize)]
struct Percentiles {
    mean: f64,
    p99: f64,
}

/// The command line of the server.
pub fn serve(surroundings: &Surroundings) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![surroundings.sockets.clone().into(), "serve".into()];
    if surroundings.multipath {
        line.push("--mptcp".into());
    }
    line
}

/// Lets multipath TCP use all rails: the server tells its addresses, the client uses its own.
pub fn join_paths(lab: &Lab) -> Result<()> {
    for (host, role) in [(1, "signal"), (0, "subflow")] {
        let host = &lab.hosts()[host];
        let mut lines = format!("mptcp limits set subflow {MOST_PATHS} add_addr_accepted {MOST_PATHS}\n");
        for rail in 0..lab.rails() {
            lines += &format!("mptcp endpoint add {} dev {} {role}\n", host.rail_address(rail), rail_name(rail));
        }
        host.batch("ip", &lines).context("cannot set up multipath TCP (does the kernel have it?)")?;
    }
    Ok(())
}

/// Rate and round trip of each rail.
pub fn measure(emulated: &Emulated, signals: &Signals) -> Result<record::Link> {
    let mut link = emulated.measured().clone();
    for (number, rail) in link.rails.iter_mut().enumerate() {
        let about = || format!("link {}: rail {} cannot be measured", link.name, rail.name);
        rail.round_trip_us = Some(round_trip(emulated, signals, number).with_context(about)?);
        let rates = stream::measure(emulated.lab(), signals, &[number], RATE_SECONDS).with_context(about)?;
        rail.measured_mbit = rates.first().map(|mb_per_s| (mb_per_s * 8.0 * 10.0).round() / 10.0);
    }
    Ok(link)
}

fn round_trip(emulated: &Emulated, signals: &Signals, rail: usize) -> Result<RoundTrip> {
    let peer = emulated.lab().hosts()[1].rail_address(rail).to_string();
    let options = ["--sizes", "1", "--seconds", ROUND_TRIP_SECONDS, "--json"];
    let mut line: Vec<OsString> = vec![emulated.sockets().into(), "latency".into(), peer.into()];
    line.extend(options.map(OsString::from));
    let executor = Executor { signals, folder: emulated.folder().to_path_buf() };
    let mut found = None;
    let mut read = |line: &str| {
        found = serde_json::from_str::<Latency>(line).ok().or(found.take());
        Ok(())
    };
    executor.run("sockets latency", emulated.command(&line), LIMIT, &mut read)?.map_err(|why| anyhow!(why))?;
    let half = found.context("sockets latency printed no result")?.percentiles;
    let whole = |half_us: f64| (half_us * 2.0 * 10.0).round() / 10.0;
    Ok(RoundTrip { mean: whole(half.mean), p99: whole(half.p99) })
}
