//! `fishplate testbed`: emulated hosts and rails, for the time of one command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use anyhow::{Context, Result, ensure};

use crate::lab::schedule::{Entry, Schedule};
use crate::lab::{Lab, Rail, Topology, launch};
use crate::storage::Asked;
use crate::system::child_process::{self, Signals};
use crate::tell;
use crate::testbed::{Burst, FlowLimit, MAX_RAILS, Rate, isolate, rail_names};

/// Runs a command on hosts and rails that exist only for it.
///
/// The hosts are network namespaces on this machine, the rails virtual Ethernet links shaped to the rates given, in
/// both directions. COMMAND runs on the first host. A plain `mpiexec` in it, of MPICH or of Open MPI, starts its ranks
/// on the hosts in turn. Nothing outside is changed, and nothing stays behind, however the command ends. Works as root,
/// and as a user where the system lets users make namespaces.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Rate of each rail in Mbit/s; 0 or "unshaped": as fast as this machine can.
    #[arg(long, value_name = "RATE,...", default_value = "1000,250", value_delimiter = ',')]
    rails: Vec<Rate>,

    /// Burst that a shaped rail lets pass after idling: 200 us at its rate, or one packet, as of network interfaces.
    #[arg(long, value_enum, default_value_t)]
    burst: Burst,

    /// Rate of one flow on each shaped rail in Mbit/s, and the number of classes of flows (default: 16): 500:2 is a bond of
    /// two ports.
    #[arg(long, value_name = "RATE[:CLASSES]")]
    flow_limit: Option<FlowLimit>,

    /// Give each host one port of this rate in Mbit/s; the rails are paths over it between two sites with half of the hosts
    /// each.
    #[arg(long, value_name = "RATE", conflicts_with = "storage")]
    port: Option<Rate>,

    /// Number of hosts; with more than two, each rail is a switch.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    hosts: u8,

    /// Changes while COMMAND runs: "SECONDSs RAIL=RATE|down|up ...; ...".
    #[arg(long, value_name = "CHANGES")]
    schedule: Option<Schedule>,

    /// Storage for COMMAND, which the last hosts serve: tmpfs, nfs, nfs3, glusterfs, moosefs, path:FOLDER.
    #[arg(long, value_name = "NAME[:servers=N][:size_mib=N][:mptcp]", value_parser = Asked::from_str)]
    storage: Option<Asked>,

    /// Command with its arguments, for the first host.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  fishplate testbed --rails 1000,250 -- mpiexec -n 2 ./program
  fishplate testbed --rails unshaped -- fishplate run -- mpiexec -n 2 ./program
  fishplate testbed --rails 1000,1000 --schedule '3s r0=250; 6s r0=1000' -- mpiexec -n 2 ./program
  fishplate testbed --rails 1000,250 --burst packet -- mpiexec -n 2 ./program
  fishplate testbed --rails 400,100 --port 500 -- mpiexec -n 2 ./program
  fishplate testbed --rails 1000,1000 --flow-limit 250 -- mpiexec -n 2 ./program
  fishplate testbed --hosts 5 --storage glusterfs:servers=4 -- sh -c 'df $FISHPLATE_STORAGE'
  fishplate testbed --hosts 4 -- sh -c '$FISHPLATE_TESTBED_LAUNCH node3 ip address'

COMMAND finds in its environment:
  FISHPLATE_TESTBED_LAUNCH     a remote shell: LAUNCH HOST COMMAND...
  FISHPLATE_TESTBED_HOSTS      the hosts' names: node0,node1,...
  FISHPLATE_TESTBED_RAILS      the rails' interfaces: r0,r1,...
  FISHPLATE_TESTBED_ADDRESSES  addresses on the rails, host by host: 10.77.0.1,10.77.1.1;10.77.0.2,...
  FISHPLATE_STORAGE            the storage: a folder, or a URL
Beside the rails each host has an interface \"mgmt\" (a bridge, not a rail) for starting processes.";

pub fn run(args: Args, inside: Option<PathBuf>) -> Result<ExitCode> {
    let rails = args.rails.len();
    ensure!((1..=MAX_RAILS).contains(&rails), "--rails takes 1 to {MAX_RAILS} rates");
    for entry in args.schedule.iter().flat_map(|schedule| &schedule.entries) {
        let known = entry.target.rail < rails && entry.target.place.is_none();
        ensure!(known, "--schedule names rail {}, but the rails are {}", entry.target, rail_names(rails));
    }
    ensure!(args.port.is_none() || args.hosts.is_multiple_of(2), "--port takes an even number of hosts, for two sites");
    if let Some(storage) = &args.storage {
        storage.check_hosts(args.hosts.into()).context("--hosts")?;
        storage.check_ready()?;
    }
    let Some(folder) = inside else { return isolate::run_again_inside() };

    let signals = Signals::take()?;
    isolate::settle()?;
    let flow_limit = |rate: &Rate| args.flow_limit.filter(|_| !rate.is_unshaped());
    let rail = |rate: &Rate| Rail { burst: args.burst, flow_limit: flow_limit(rate), ..Rail::of_rate(*rate) };
    let rails = args.rails.iter().map(rail).collect();
    let topology = match &args.port {
        Some(port) => {
            Topology::paths(usize::from(args.hosts) / 2, Rail { burst: args.burst, ..Rail::of_rate(*port) }, rails)
        }
        None => Topology { storage: args.storage.clone(), ..Topology::cluster(args.hosts.into(), rails) },
    };
    let mut lab = Lab::build(&topology, &folder)?;
    let mut command = lab.command(0, &args.command);
    launch::apply(&mut command, lab.environment()?);
    let mut child = child_process::spawn(&mut command, &args.command[0])?;
    let ended = std::thread::scope(|scope| {
        let (cancel, cancelled) = std::sync::mpsc::channel();
        if let Some(schedule) = args.schedule.clone() {
            let lab = &mut lab;
            scope.spawn(move || play(schedule, lab, &cancelled));
        }
        let ended = signals.wait(&mut child, Some(child_process::GRACE));
        drop(cancel);
        Ok::<_, anyhow::Error>(ended?.exit_code())
    })?;
    for failure in lab.storage_failures() {
        tell!("fishplate testbed: {failure}");
    }
    Ok(ended)
}

/// Makes the changes when their time has come, until the other end of `cancelled` is dropped.
fn play(schedule: Schedule, lab: &mut Lab, cancelled: &Receiver<()>) {
    let mut playing = schedule.begin();
    while let Some(wait) = playing.wait() {
        if cancelled.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        while let Some(Entry { at, target, change }) = playing.due() {
            match lab.set(&target, &change) {
                Ok(()) => tell!("fishplate testbed: {:.3} s: {target} {change}", at.as_secs_f64()),
                Err(error) => tell!("fishplate testbed: {error:#}"),
            }
        }
    }
}
