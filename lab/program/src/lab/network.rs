//! Making the networks of a lab: devices, switches, addresses, routes.
//!
//! All hosts are in one subnet a rail, also across clusters, as with a pair of long-distance routers that extend a
//! fabric. A cluster's switch is a bridge for each rail; towards other clusters it routes, and answers for their
//! hosts (proxy ARP), since packets that are routed can wait for the emulator and those that are bridged cannot.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Lab;
use super::link::{At, End, Kind, Link};
use crate::system::programs;
use crate::testbed::host::Host;
use crate::testbed::{MANAGEMENT, rail_name};

/// How long links may take to come up. The kernel's own delay is at most a second, but its worker waits for others that make or
/// remove interfaces, of any namespace.
const CARRIER_LIMIT: Duration = Duration::from_secs(60);

/// Socket buffers up to which TCP may grow: a round trip of 50 ms at 10 Gbit/s, both ways of counting included.
const SOCKET_BYTES: u32 = 64 << 20;

/// Kernel settings of a switch that routes between clusters.
const SWITCH_SETTINGS: [(&str, &str); 5] = [
    ("ipv4/ip_forward", "1"),
    // For interfaces made from now on: answer for hosts of other clusters, by whatever interface their packets arrive.
    ("ipv4/conf/default/proxy_arp", "1"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/all/send_redirects", "0"),
];

impl Lab {
    /// Joins all hosts by a network that is no rail, for starting processes.
    pub(super) fn make_management(&self) -> Result<()> {
        let problem = "cannot make the management network";
        let mut lines = bridge_lines(MANAGEMENT);
        for (index, host) in self.hosts().iter().enumerate() {
            let port = format!("{MANAGEMENT}-{index}");
            lines += &format!("link add {port} type veth peer name mgmt-port netns {}\n", host.pid());
            lines += &port_lines(MANAGEMENT, &port);
        }
        self.batch(At::Here, "ip", &lines).context(problem)?;
        for host in self.hosts() {
            let mut lines = bridge_lines(MANAGEMENT) + &port_lines(MANAGEMENT, "mgmt-port");
            lines += &format!("address add {}/24 dev {MANAGEMENT}\n", host.management_address());
            host.batch("ip", &lines).context(problem)?;
        }
        Ok(())
    }

    /// Prepares switches and hosts for what their devices inherit.
    pub(super) fn tune(&mut self) -> Result<()> {
        let routes = !self.topology.wans.is_empty();
        for switch in self.switches.iter().filter(|_| routes) {
            write_settings(switch, &SWITCH_SETTINGS).with_context(|| format!("cannot make {} route", switch.name))?;
        }
        let buffers = format!("4096 131072 {SOCKET_BYTES}");
        let settings = [("ipv4/tcp_rmem", buffers.as_str()), ("ipv4/tcp_wmem", buffers.as_str())];
        let refused = self.hosts().iter().find_map(|host| write_settings(host, &settings).err());
        if let Some(error) = refused {
            self.notes.push(format!("TCP buffers stay as the machine has them, too short for long delays ({error:#})"));
        }
        Ok(())
    }

    /// Makes a link's devices.
    pub(super) fn make_pair(&self, link: &Link) -> Result<()> {
        let (a, b) = (self.place_words(&link.a), self.place_words(&link.b));
        let line = format!("link add {a} type veth peer name {b}\n");
        self.batch(At::Here, "ip", &line).with_context(|| format!("cannot make rail {}", link.name))
    }

    /// Addresses hosts and joins links at switches.
    pub(super) fn connect(&self) -> Result<()> {
        for (cluster, switch) in self.switches.iter().enumerate() {
            let mut lines = String::new();
            lines.extend((0..self.topology.ports()).map(|port| bridge_lines(&rail_name(port))));
            if self.topology.one_port {
                lines += &path_gateway_lines(switch, self.rails());
            } else {
                let address = |rail| format!("address add {}/24 dev {}\n", switch.rail_address(rail), rail_name(rail));
                lines.extend((0..self.rails()).map(address));
            }
            for link in self.links.iter().filter(|link| matches!(link.kind, Kind::Port(_))) {
                if link.a.at == At::Switch(cluster) {
                    lines += &port_lines(&rail_name(link.rail), &link.a.interface);
                }
            }
            switch.batch("ip", &lines).with_context(|| format!("cannot make switch {}", switch.name))?;
        }
        self.address_hosts().context("cannot address the rails")?;
        for link in &self.links {
            if link.a.at == At::Here || link.b.at == At::Here {
                self.batch(At::Here, "ip", &format!("link set {} up\n", link.b.interface))?;
            }
            if matches!(link.kind, Kind::Wan(_)) {
                self.bring_up(link)?;
            }
        }
        self.answer_at_once()?;
        self.await_carriers()
    }

    fn address_hosts(&self) -> Result<()> {
        if self.topology.one_port {
            let of = |cluster: usize| self.topology.hosts_of(cluster).map(move |host| (host, cluster));
            let mut hosts = (0..self.switches.len()).flat_map(of);
            return hosts.try_for_each(|(host, cluster)| {
                let lines = path_host_lines(&self.hosts[host], &self.switches[cluster], self.rails());
                self.hosts[host].batch("ip", &lines)
            });
        }
        self.hosts().iter().try_for_each(|host| {
            let lines = (0..self.rails()).map(|rail| {
                let (name, address) = (rail_name(rail), host.rail_address(rail));
                format!("link set {name} addrgenmode none\naddress add {address}/24 dev {name}\nlink set {name} up\n")
            });
            host.batch("ip", &lines.collect::<String>())
        })
    }

    /// Lets switches answer for hosts of other clusters without the usual pause, which is up to 0.8 s.
    fn answer_at_once(&self) -> Result<()> {
        for (cluster, switch) in self.switches.iter().enumerate().filter(|_| !self.topology.wans.is_empty()) {
            let wans = self.links.iter().filter(|link| matches!(link.kind, Kind::Wan(_)));
            let ends = wans.flat_map(|link| [&link.a, &link.b]).filter(|end| end.at == At::Switch(cluster));
            let devices = ends.map(|end| end.interface.clone()).chain((0..self.topology.ports()).map(rail_name));
            let names: Vec<String> = devices.map(|device| format!("ipv4/neigh/{device}/proxy_delay")).collect();
            let settings: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "0")).collect();
            write_settings(switch, &settings)?;
        }
        Ok(())
    }

    /// Takes a link down.
    pub(super) fn take_down(&self, link: &Link) -> Result<()> {
        let down = |end: &End| self.batch(end.at, "ip", &format!("link set {} down\n", end.interface));
        link.ends().into_iter().try_for_each(down)
    }

    /// Brings a link up, and what went with it.
    pub(super) fn bring_up(&self, link: &Link) -> Result<()> {
        for end in link.ends() {
            let mut lines = format!("link set {} up\n", end.interface);
            if let (Kind::Wan(wan), At::Switch(cluster)) = (link.kind, end.at) {
                let [one, other] = self.topology.clusters_of(&self.topology.wans[wan]);
                let far = if cluster == one { other } else { one };
                lines += &format!("link set {} addrgenmode none\n", end.interface);
                for host in &self.hosts()[self.topology.hosts_of(far)] {
                    lines += &format!("route replace {}/32 dev {}\n", host.rail_address(link.rail), end.interface);
                }
            }
            self.batch(end.at, "ip", &lines).with_context(|| format!("cannot bring up rail {}", link.name))?;
        }
        Ok(())
    }

    /// Waits until every link has noticed that its other end is up, which the kernel reports with a delay.
    fn await_carriers(&self) -> Result<()> {
        let deadline = Instant::now() + CARRIER_LIMIT;
        for host in self.hosts.iter().chain(&self.switches) {
            let line = [programs::iproute2("ip")?.into(), "-brief".into(), "link".into()];
            while programs::run_quietly(&mut host.command(&line), "")?.contains("DOWN") {
                ensure!(Instant::now() < deadline, "the links of host {} do not come up", host.name);
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    /// Resets the TCP connections over a link, at one of their ends.
    pub(super) fn reset_connections(&self, link: &Link) -> Result<()> {
        let (hosts, peers) = match link.kind {
            Kind::Direct => (0..1, 0..0),
            Kind::Port(host) => (host..host + 1, 0..0),
            Kind::Wan(wan) => {
                let [one, other] = self.topology.clusters_of(&self.topology.wans[wan]);
                (self.topology.hosts_of(one), self.topology.hosts_of(other))
            }
        };
        let peers: Vec<String> =
            self.hosts[peers].iter().map(|peer| format!("dst {}", peer.rail_address(link.rail))).collect();
        let peers = if peers.is_empty() { String::new() } else { format!("and ( {} )", peers.join(" or ")) };
        for host in &self.hosts[hosts] {
            let words = format!("-H --kill --tcp state established src {} {peers}", host.rail_address(link.rail));
            let words = words.split_whitespace().map(OsString::from);
            let line: Vec<OsString> = std::iter::once(programs::iproute2("ss")?.into()).chain(words).collect();
            let problem = || format!("cannot reset the connections over rail {}", link.name);
            programs::run_quietly(&mut host.command(&line), "").with_context(problem)?;
        }
        Ok(())
    }

    /// Runs an iproute2 program with a batch of lines in one of the lab's networks.
    pub(super) fn batch(&self, at: At, tool: &str, lines: &str) -> Result<()> {
        if let Some(host) = self.holder(at) {
            return host.batch(tool, lines);
        }
        programs::run_quietly(Command::new(programs::iproute2(tool)?).args(["-batch", "-"]), lines)?;
        Ok(())
    }

    /// A file that stands for a network.
    pub(super) fn namespace(&self, at: At) -> PathBuf {
        let process = self.holder(at).map_or("self".into(), |host| host.proc_id().to_string());
        format!("/proc/{process}/ns/net").into()
    }

    fn holder(&self, at: At) -> Option<&Host> {
        match at {
            At::Host(index) => Some(&self.hosts[index]),
            At::Switch(cluster) => Some(&self.switches[cluster]),
            At::Here => None,
        }
    }

    /// Arguments of `ip link add` for the place of a device.
    fn place_words(&self, end: &End) -> String {
        match self.holder(end.at) {
            Some(host) => format!("{} netns {}", end.interface, host.pid()),
            None => end.interface.clone(),
        }
    }

    /// The links that frames of a rail may pass: all where rails share a port.
    pub(super) fn links_of_rail(&self, rail: usize) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(move |link| self.topology.one_port || link.rail == rail)
    }

    /// Every network in which rails end, with their interfaces of one rail; of all where these share a port.
    pub(super) fn ends_of_rail(&self, rail: usize) -> Vec<&End> {
        let links = self.links_of_rail(rail);
        let mut seen = BTreeSet::new();
        links
            .flat_map(|link| [&link.a, &link.b])
            .filter(|end| seen.insert((format!("{:?}", end.at), end.interface.clone())))
            .collect()
    }
}

fn bridge_lines(name: &str) -> String {
    format!("link add {name} type bridge forward_delay 0\nlink set {name} addrgenmode none\nlink set {name} up\n")
}

fn port_lines(bridge: &str, port: &str) -> String {
    format!("link set {port} master {bridge}\nlink set {port} addrgenmode none\nlink set {port} up\n")
}

/// Writes settings of a host's network, files below /proc/sys/net.
fn write_settings(host: &Host, settings: &[(&str, &str)]) -> Result<()> {
    let script = settings.iter().map(|(name, value)| format!("echo '{value}' > /proc/sys/net/{name}\n"));
    let line = ["/bin/sh".into(), "-ec".into(), script.collect::<String>().into()];
    programs::run_quietly(&mut host.command(&line), "").map(drop)
}

/// Number of the routing table of the first path; those of the kernel and of users' habits are less, or 253 and above.
const FIRST_TABLE: usize = 100;

/// Lines for `ip -batch` that address the bridge of a switch as the gateway of each path.
fn path_gateway_lines(switch: &Host, paths: usize) -> String {
    let port = rail_name(0);
    (0..paths).map(|path| format!("address add {}/24 dev {port}\n", switch.rail_address(path))).collect()
}

/// Lines that give a host an address for each path, and send packets from it to that path's gateway. What is for a
/// path's far addresses leaves from the path's own, unless a program chooses another.
fn path_host_lines(host: &Host, switch: &Host, paths: usize) -> String {
    let port = rail_name(0);
    let mut lines = format!("link set {port} addrgenmode none\nlink set {port} up\n");
    for path in 0..paths {
        let (own, gateway, table) = (host.rail_address(path), switch.rail_address(path), FIRST_TABLE + path);
        let [a, b, c, _] = own.octets();
        let way = format!("via {gateway} dev {port} onlink src {own}");
        lines += &format!("address add {own}/32 dev {port}\n");
        lines += &format!("route add {a}.{b}.{c}.0/24 {way}\nroute add default {way} table {table}\n");
        lines += &format!("rule add from {own} table {table}\n");
    }
    lines
}
