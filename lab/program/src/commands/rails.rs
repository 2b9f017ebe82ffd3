//! `fishplate rails`: interfaces that would be rails, and the reasons against the others.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use fishplate_rails::discover::{self, Class, Interface};
use fishplate_rails::rail::Rail;
use fishplate_rails::{Settings, netlink, pairing, probe};
use fishplate_rails_ofi::adapters::{Adapter, SYSFS};
use fishplate_rails_ofi::wanted;
use serde::Serialize;

use crate::doctor::checks::rails::{self as facts, InterfaceFacts};
use crate::output::text;
use crate::say;

/// Shows the rails that would be used, and the reasons against others.
///
/// Follows FISHPLATE_RAILS. With --peer it also shows the rails and the pairs of addresses over which a host would be
/// reached, and round-trip times, which TCP connections to port 9 of the host measure.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Addresses of a host, separated by commas, to be reached from each rail
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    peer: Vec<IpAddr>,

    /// JSON instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fishplate rails
  fishplate rails --peer 10.0.0.2
  fishplate rails --peer 10.0.0.2,10.0.1.2,fd00::2
  FISHPLATE_RAILS=eth1,eth0 fishplate rails --json
  FISHPLATE_RAILS=eth0/10.1.0.5,eth0/10.2.0.5 fishplate rails
  FISHPLATE_RAILS='10.0.0.0/16,^eth3' fishplate rails";

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    interface: InterfaceFacts,
    /// The best pair of addresses, if a peer was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<Reach>,
    /// Ways to the peer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pairs: Vec<Pair>,
}

#[derive(Clone, Serialize)]
struct Reach {
    reachable: bool,
    /// Least of a few round trips, in microseconds, if the host answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    round_trip_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// An address of a rail, and one of the host.
#[derive(Serialize)]
struct Pair {
    from: Option<IpAddr>,
    to: IpAddr,
    /// The kernel's route from one to the other, unless the socket is bound to an interface.
    route: String,
    /// The interface that sockets are bound to.
    device: Option<String>,
    /// Whether it would be used.
    used: bool,
    #[serde(flatten)]
    reach: Reach,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let settings = Settings::from_env().map_err(|error| anyhow!("{error}"))?;
    let interfaces = discover::survey(&settings.rails).map_err(|error| anyhow!("{error}"))?;
    let rails = Rail::all(&interfaces);
    let own: Vec<IpAddr> = interfaces.iter().flat_map(|one| &one.addresses).map(|address| address.ip).collect();
    let peer: Vec<Vec<IpAddr>> = args.peer.iter().map(|ip| vec![*ip]).collect();
    let peer = pairing::Peer { rails: &peer, preferred: peer.len(), own: &own };
    let pairs = |classes: &[Class]| -> Vec<_> {
        classes.iter().flat_map(|class| pairing::pair_class(&rails, peer, *class)).collect()
    };
    let (used, reserve) = (pairs(&[Class::Rail]), pairs(&Class::ALL[1..]));
    let row = |interface| Row { interface, peer: None, pairs: Vec::new() };
    let mut rows: Vec<Row> = facts::all(&interfaces, &rails).into_iter().map(row).collect();
    let mut answered: Option<Class> = None;
    for (at, (rail, row)) in rails.iter().zip(&mut rows).enumerate() {
        if row.interface.outage.is_some() {
            continue;
        }
        let leads = |pairs: &[pairing::Pair], to: &IpAddr| {
            pairs.iter().any(|pair| pair.local == at && pair.remotes.contains(to))
        };
        // Interfaces in reserve are for hosts that do not answer over a better one.
        let is_next = answered.is_none_or(|class| class == rail.class);
        let is_used = |to: &IpAddr| leads(&used, to) || is_next && leads(&reserve, to);
        let pair = |to: &IpAddr| Pair::look(rail, *to, own.contains(to), is_used(to), &interfaces);
        row.pairs = args.peer.iter().map(pair).collect();
        row.peer = best(&row.pairs);
        if row.pairs.iter().any(|pair| pair.used && pair.reach.round_trip_us.is_some()) {
            answered.get_or_insert(rail.class);
        }
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print(&rows);
        print_domains(&settings.rails);
    }
    let leads = |row: &Row| match &row.peer {
        Some(peer) if row.interface.rail => peer.reachable,
        Some(_) => row.pairs.iter().any(|pair| pair.used && pair.reach.reachable),
        None => row.interface.rail || row.interface.reserve,
    };
    let usable = |row: &Row| row.interface.outage.is_none() && leads(row);
    Ok(if rows.iter().any(usable) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Domains of libfabric's providers that `words` of FISHPLATE_RAILS may make rails; they are not examined here.
fn print_domains(words: &[String]) {
    match wanted::named(words) {
        Some(named) => named.iter().for_each(|wanted| {
            say!(
                "{wanted} is a domain of libfabric's provider {}: MPI's processes say if it is missing",
                wanted.provider
            );
        }),
        None => Adapter::names(Path::new(SYSFS)).iter().for_each(|name| {
            say!("{name} is an adapter, and a rail if a provider of the MPI's libfabric drives it");
        }),
    }
}

/// Of the pairs that reach the host the fastest, else of any.
fn best(pairs: &[Pair]) -> Option<Reach> {
    let us = |pair: &&Pair| pair.reach.round_trip_us.unwrap_or(f64::INFINITY);
    let reached = pairs.iter().filter(|pair| pair.reach.reachable).min_by(|a, b| us(a).total_cmp(&us(b)));
    Some(reached.or(pairs.first())?.reach.clone())
}

impl Pair {
    fn look(rail: &Rail, to: IpAddr, is_here: bool, used: bool, interfaces: &[Interface]) -> Pair {
        let device = rail.device().filter(|_| !is_here).map(str::to_string);
        let Some(from) = rail.source_for(to) else {
            let error = Some(format!("{} has no address of that kind", rail.name));
            let reach = Reach { reachable: false, round_trip_us: None, error };
            return Pair { from: None, to, route: "none".into(), device, used, reach };
        };
        let name = |index: u32| interfaces.iter().find(|one| one.index == index).map_or("?", |one| one.name.as_str());
        // Link-local addresses have a route over every interface; the socket chooses one.
        let route = match netlink::route(from, to) {
            Ok(netlink::Route { device, gateway: None }) => Ok(format!("over {}", name(device))),
            Ok(netlink::Route { device, gateway: Some(gateway) }) => Ok(format!("over {}, by {gateway}", name(device))),
            Err(error) => Err(error.to_string()),
        };
        let reach = match (&route, probe::round_trip(rail, to, is_here)) {
            (_, Ok(Some(time))) => {
                Reach { reachable: true, round_trip_us: Some(time.as_nanos() as f64 / 1e3), error: None }
            }
            (Err(error), _) => Reach { reachable: false, round_trip_us: None, error: Some(error.clone()) },
            (Ok(_), Ok(None)) => Reach { reachable: true, round_trip_us: None, error: None },
            (Ok(_), Err(error)) => Reach { reachable: true, round_trip_us: None, error: Some(error.to_string()) },
        };
        let route = route.unwrap_or_else(|_| "none".into());
        Pair { from: Some(from), to, route, device, used, reach }
    }

    fn answer(&self) -> String {
        match (&self.reach.error, self.reach.round_trip_us) {
            (_, Some(us)) => format!("after {}", text::microseconds(us)),
            (Some(error), None) => error.clone(),
            (None, None) => "none within 1 s".into(),
        }
    }
}

impl Row {
    fn state(&self) -> String {
        match (&self.interface.reason, &self.interface.outage, self.interface.gateway) {
            (Some(reason), ..) if self.interface.reserve => format!("in reserve: {reason}"),
            (Some(reason), ..) => format!("not used: {reason}"),
            (None, Some(outage), _) => format!("rail, but {outage} now"),
            (None, None, Some(gateway)) => format!("rail by {gateway}"),
            (None, None, None) => "rail".into(),
        }
    }
}

fn print(rows: &[Row]) {
    let mut table = text::table(&["interface", "addresses", "speed", "MTU", "state"], usize::MAX);
    for row in rows {
        let addresses: Vec<String> = row.interface.addresses.iter().map(ToString::to_string).collect();
        let names: Vec<&str> =
            [&row.interface.name].into_iter().chain(&row.interface.altnames).map(String::as_str).collect();
        table.add_row([
            names.join("\n"),
            or_dash(addresses.join("\n")),
            row.interface.speed_mbps.map_or("unknown".into(), |mbps| format!("{mbps} Mbit/s")),
            row.interface.mtu.to_string(),
            row.state(),
        ]);
    }
    say!("{table}");
    say!("{} (FISHPLATE_RAILS chooses others)", count(rows));
    for (row, node) in rows.iter().filter_map(|row| Some((row, row.interface.numa_node?))) {
        say!("{} is at NUMA node {node}", row.interface.name);
    }
    for (row, flows) in rows.iter().filter_map(|row| Some((row, row.interface.flows?))) {
        say!("{}: {flows}", row.interface.name);
    }
    for (row, hint) in rows.iter().flat_map(|row| row.interface.hints.iter().map(move |hint| (row, hint))) {
        say!("{}: {hint}", row.interface.name);
    }
    if rows.iter().any(|row| !row.pairs.is_empty()) {
        print_pairs(rows);
    }
}

fn count(rows: &[Row]) -> String {
    let devices: BTreeSet<&str> =
        rows.iter().map(|row| row.interface.name.split('/').next().unwrap_or_default()).collect();
    let (rails, rows, devices) = (rows.iter().filter(|row| row.interface.rail).count(), rows.len(), devices.len());
    match devices == rows {
        true => format!("{rails} of {rows} interfaces would be rails"),
        false => format!("there would be {rails} rails, as paths over an interface count; {devices} interfaces"),
    }
}

fn print_pairs(rows: &[Row]) {
    let mut table = text::table(&["rail", "from", "to", "route", "bound to", "answer", "used"], usize::MAX);
    for (row, pair) in rows.iter().flat_map(|row| row.pairs.iter().map(move |pair| (row, pair))) {
        table.add_row([
            row.interface.name.clone(),
            or_dash(pair.from.map(|ip| ip.to_string()).unwrap_or_default()),
            pair.to.to_string(),
            pair.route.clone(),
            or_dash(pair.device.clone().unwrap_or_default()),
            pair.answer(),
            if pair.used { "yes" } else { "no" }.into(),
        ]);
    }
    say!("\n{table}");
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".to_string() } else { text }
}
