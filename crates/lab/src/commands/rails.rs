//! `fishplate rails`: which interfaces would be rails, and why others would not.

use std::net::IpAddr;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use fishplate_rails::discover::{self, Interface, Verdict};
use fishplate_rails::{Settings, probe};
use serde::Serialize;

use crate::output::text;

/// Shows the rails that would be used, and why other interfaces would not.
///
/// Follows FISHPLATE_RAILS. With --peer it also shows which rails have a route to a host, and how long a round trip
/// takes: the host is asked for a TCP connection to port 9.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Address of a host: is it reachable from each rail, and how far away?
    #[arg(long, value_name = "ADDRESS")]
    peer: Option<IpAddr>,

    /// JSON instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fishplate rails
  fishplate rails --peer 10.0.0.2
  FISHPLATE_RAILS=eth1,eth0 fishplate rails --json";

#[derive(Serialize)]
struct Row {
    name: String,
    rail: bool,
    address: Option<IpAddr>,
    addresses: Vec<IpAddr>,
    speed_mbps: Option<u64>,
    mtu: u32,
    /// Why it carries nothing at present.
    #[serde(skip_serializing_if = "Option::is_none")]
    outage: Option<&'static str>,
    /// Why it is not a rail.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What a route to the peer looks like, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<Reach>,
}

#[derive(Serialize)]
struct Reach {
    reachable: bool,
    /// Least of a few round trips, in microseconds, if the host answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    round_trip_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// A host that may be reachable.
#[derive(Clone, Copy)]
struct Peer {
    address: IpAddr,
    /// It is this one.
    is_here: bool,
}

impl Peer {
    /// From the address of a rail over `device`.
    fn reach(self, rail: IpAddr, device: &str) -> Reach {
        if let Err(error) = discover::route_to(rail, self.address) {
            return Reach { reachable: false, round_trip_us: None, error: Some(error.to_string()) };
        }
        let device = (!self.is_here).then_some(device);
        let round_trip = probe::round_trip(rail, device, self.address).ok().flatten();
        Reach { reachable: true, round_trip_us: round_trip.map(|time| time.as_nanos() as f64 / 1e3), error: None }
    }
}

/// The command.
pub fn run(args: Args) -> Result<ExitCode> {
    let settings = Settings::from_env().map_err(|error| anyhow!("{error}"))?;
    let interfaces = discover::survey(&settings.rails).map_err(|error| anyhow!("{error}"))?;
    let own: Vec<IpAddr> = interfaces.iter().flat_map(|interface| interface.addresses.clone()).collect();
    let peer = args.peer.map(|peer| Peer { address: peer, is_here: own.contains(&peer) });
    let rows: Vec<Row> = interfaces.into_iter().map(|interface| Row::new(interface, peer)).collect();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print_table(&rows, args.peer);
    }
    let usable = |row: &Row| row.rail && row.outage.is_none() && row.peer.as_ref().is_none_or(|peer| peer.reachable);
    Ok(if rows.iter().any(usable) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Row {
    fn new(interface: Interface, peer: Option<Peer>) -> Row {
        let is_up = interface.is_up();
        let (address, reason) = match interface.verdict {
            Verdict::Rail(address) => (Some(address), None),
            Verdict::Excluded(reason) => (None, Some(reason)),
        };
        let peer = address.filter(|_| is_up).zip(peer).map(|(rail, peer)| peer.reach(rail, &interface.name));
        Row {
            name: interface.name,
            rail: address.is_some(),
            address,
            addresses: interface.addresses,
            speed_mbps: interface.speed_mbps,
            mtu: interface.mtu,
            outage: interface.outage,
            reason,
            peer,
        }
    }

    fn state(&self, peer: Option<IpAddr>) -> String {
        match (&self.reason, &self.peer, peer) {
            (Some(reason), _, _) => format!("not used: {reason}"),
            (None, Some(Reach { error: Some(error), .. }), Some(peer)) => format!("rail; no way to {peer}: {error}"),
            (None, Some(Reach { round_trip_us: Some(us), .. }), Some(peer)) => {
                format!("rail; has a route to {peer}, round trip {}", text::microseconds(*us))
            }
            (None, Some(_), Some(peer)) => format!("rail; has a route to {peer}, which does not answer"),
            _ => self.outage.map_or("rail".into(), |outage| format!("rail, but {outage} now")),
        }
    }
}

fn print_table(rows: &[Row], peer: Option<IpAddr>) {
    let mut table = text::table(&["interface", "address", "speed", "MTU", "state"], usize::MAX);
    for row in rows {
        let addresses: Vec<String> = match row.address {
            Some(address) => vec![address.to_string()],
            None => row.addresses.iter().map(ToString::to_string).collect(),
        };
        let or_dash = |text: String| if text.is_empty() { "-".to_string() } else { text };
        table.add_row([
            row.name.clone(),
            or_dash(addresses.join("\n")),
            row.speed_mbps.map_or("unknown".into(), |mbps| format!("{mbps} Mbit/s")),
            row.mtu.to_string(),
            row.state(peer),
        ]);
    }
    println!("{table}");
    let rails = rows.iter().filter(|row| row.rail).count();
    println!("{rails} of {} interfaces would be rails (FISHPLATE_RAILS chooses others)", rows.len());
}
