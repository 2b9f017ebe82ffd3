//! Links between hosts: virtual Ethernet, direct between two, through a bridge among more.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::host::Host;
use super::{Rate, Testbed, rail_name};
use crate::tools;

/// Interface of the management network on every host. A bridge, since no stack takes bridges for rails by itself.
pub const MANAGEMENT: &str = "mgmt";

/// How long links may take to come up; the kernel's own delay is at most a second.
const CARRIER_LIMIT: Duration = Duration::from_secs(5);

/// Joins all hosts by a network that is no rail, for starting processes.
pub fn management(testbed: &Testbed) -> Result<()> {
    let mut lines = bridge_lines(MANAGEMENT);
    for (index, host) in testbed.hosts().iter().enumerate() {
        lines += &port_lines(MANAGEMENT, index, host, "mgmt-port");
    }
    batch_here("ip", &lines).context("cannot make the management network")?;
    for host in testbed.hosts() {
        let mut lines = bridge_lines(MANAGEMENT);
        lines += &format!(
            "link set mgmt-port master {MANAGEMENT}\nlink set mgmt-port addrgenmode none\nlink set mgmt-port up\n"
        );
        lines += &format!("address add {}/24 dev {MANAGEMENT}\n", host.management_address());
        host.batch("ip", &lines).context("cannot make the management network")?;
    }
    Ok(())
}

/// Joins all hosts by rail number `rail`, not shaped.
pub fn join(testbed: &Testbed, rail: usize) -> Result<()> {
    let name = rail_name(rail);
    let lines = match testbed.hosts() {
        [one] => {
            format!("link add {name} netns {} type veth peer name {name}-end\nlink set {name}-end up\n", one.pid())
        }
        [one, other] => {
            format!("link add {name} netns {} type veth peer name {name} netns {}\n", one.pid(), other.pid())
        }
        hosts => {
            let ports = hosts.iter().enumerate().map(|(index, host)| port_lines(&name, index, host, &name));
            bridge_lines(&name) + &ports.collect::<String>()
        }
    };
    batch_here("ip", &lines).with_context(|| format!("cannot make rail {name}"))?;
    for host in testbed.hosts() {
        let address = host.rail_address(rail);
        let lines =
            format!("link set {name} addrgenmode none\naddress add {address}/24 dev {name}\nlink set {name} up\n");
        host.batch("ip", &lines).with_context(|| format!("cannot make rail {name}"))?;
    }
    Ok(())
}

/// Gives rail number `rail` a rate, at every end that sends into it.
pub fn shape(testbed: &Testbed, rail: usize, rate: Rate) -> Result<()> {
    let name = rail_name(rail);
    let problem = || format!("cannot give rail {name} a rate of {rate}");
    for (index, host) in testbed.hosts().iter().enumerate() {
        if host.batch("tc", &rate.tc_lines(&name)).is_err() {
            host.batch("tc", &rate.tc_install_lines(&name)).with_context(problem)?;
        }
        if testbed.hosts().len() > 2 {
            let port = port_name(&name, index);
            if batch_here("tc", &rate.tc_lines(&port)).is_err() {
                batch_here("tc", &rate.tc_install_lines(&port)).with_context(problem)?;
            }
        }
    }
    Ok(())
}

/// Takes rail number `rail` down or up on all hosts.
pub fn set_up(testbed: &Testbed, rail: usize, up: bool) -> Result<()> {
    let line = format!("link set {} {}\n", rail_name(rail), if up { "up" } else { "down" });
    testbed.hosts().iter().try_for_each(|host| host.batch("ip", &line))
}

/// Waits until every link has noticed that its other end is up, which the kernel tells with a delay.
pub fn await_carriers(testbed: &Testbed) -> Result<()> {
    let deadline = Instant::now() + CARRIER_LIMIT;
    for host in testbed.hosts() {
        let line = [tools::iproute2("ip")?.into(), "-brief".into(), "link".into()];
        while tools::run_quietly(host.command(&line), "")?.contains("DOWN") {
            ensure!(Instant::now() < deadline, "the links of host {} do not come up", host.name);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

fn bridge_lines(name: &str) -> String {
    format!("link add {name} type bridge forward_delay 0\nlink set {name} addrgenmode none\nlink set {name} up\n")
}

/// A bridge's port here and the interface `inner` on a host, as one link.
fn port_lines(bridge: &str, index: usize, host: &Host, inner: &str) -> String {
    let port = port_name(bridge, index);
    format!(
        "link add {port} type veth peer name {inner} netns {}\nlink set {port} master {bridge}\n\
         link set {port} addrgenmode none\nlink set {port} up\n",
        host.pid()
    )
}

fn port_name(bridge: &str, index: usize) -> String {
    format!("{bridge}-{index}")
}

fn batch_here(tool: &str, lines: &str) -> Result<()> {
    let mut command = Command::new(tools::iproute2(tool)?);
    command.args(["-batch", "-"]);
    tools::run_quietly(command, lines)?;
    Ok(())
}
