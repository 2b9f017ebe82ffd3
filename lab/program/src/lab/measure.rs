//! Measured properties of rails: rates and round trips by plain sockets, beside what was asked for.

use std::ffi::OsString;
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::Lab;
use super::link::{At, Kind, Link};
use super::probe::RoundTrips;
use super::rail::Rail;
use super::topology::Cluster;
use crate::system::programs;

/// TCP payload at 1500 bytes of IP: 40 of headers, 12 of timestamps.
const PAYLOAD_BYTES: f64 = 1448.0;
/// Length of this packet on the wire, with 38 bytes of Ethernet.
const WIRE_BYTES: f64 = 1538.0;
/// Round trips for which TCP may look for its speed, and what it takes beyond.
const WARM_UP_ROUND_TRIPS: f64 = 40.0;
const WARM_UP_S: f64 = 0.4;
/// Third number of the addresses of the plain link that round trips are compared with.
const PLAIN_NETWORK: u8 = 254;
/// Of the rate, and of the round trip: what a rail may be off by.
const RATE_TOLERANCE: f64 = 0.03;
const ROUND_TRIP_TOLERANCE: f64 = 0.05;
const ROUND_TRIP_TOLERANCE_US: f64 = 60.0;

/// One rail between two hosts, asked and measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The cluster, or the two clusters.
    pub place: String,
    pub rail: usize,
    /// Bits on the wire; nothing: as fast as it goes.
    pub asked_mbit: Option<f64>,
    /// Rate measured by TCP, over all rails of the place concurrently.
    pub measured_mbit: f64,
    /// Contribution of the delays to a round trip, in microseconds.
    pub asked_round_trip_us: f64,
    /// Round trip over a plain link, for comparison.
    pub plain: RoundTrips,
    pub round_trip: RoundTrips,
    /// Whether packets can get lost, so that TCP cannot be expected to fill it.
    pub lossy: bool,
}

/// Two hosts, and what lies between them on each rail.
struct Path {
    place: String,
    from: usize,
    to: usize,
    rails: Vec<Vec<Rail>>,
    /// Delays of a round trip, for each rail, in microseconds.
    delays_us: Vec<f64>,
}

impl Measured {
    /// Deviations beyond the tolerance.
    pub fn deviations(&self) -> Vec<String> {
        let name = format!("{}.r{}", self.place, self.rail);
        let mut deviations = Vec::new();
        let off = |asked: f64| self.measured_mbit / asked - 1.0;
        if let Some(asked) = self.asked_mbit.filter(|asked| !self.lossy && off(*asked).abs() > RATE_TOLERANCE) {
            deviations.push(format!("{name}: its rate is off by {:+.1} %", off(asked) * 100.0));
        }
        let added = self.round_trip.mean_us - self.plain.mean_us - self.asked_round_trip_us;
        if added.abs() > self.asked_round_trip_us * ROUND_TRIP_TOLERANCE + ROUND_TRIP_TOLERANCE_US {
            deviations.push(format!("{name}: its round trip is off by {added:+.0} us"));
        }
        deviations
    }
}

impl Lab {
    /// Measures every place between two of its hosts, for about `seconds` each for rates and half as long for each
    /// round trip.
    pub fn measure(&self, seconds: f64) -> Result<Vec<Measured>> {
        let mut found = Vec::new();
        for path in self.paths() {
            found.extend(self.measure_path(&path, seconds).with_context(|| format!("cannot measure {}", path.place))?);
        }
        Ok(found)
    }

    /// MB/s of payload of one stream over each of these rails, all at once, from the first host to the second, where
    /// nothing delays them.
    pub fn streams(&self, rails: &[usize], seconds: f64) -> Result<Vec<f64>> {
        self.rates([0, 1], rails, seconds, WARM_UP_S)
    }

    fn paths(&self) -> Vec<Path> {
        let topology = &self.topology;
        let rail = |place: &dyn Fn(usize) -> Vec<Rail>| (0..self.rails()).map(place).collect::<Vec<_>>();
        let us = |rails: &[Rail]| rails.iter().map(|rail| rail.delay.us()).sum::<f64>();
        let switched = self.links.iter().any(|link| link.kind != Kind::Direct);
        let asked = |place: &str, number: usize| {
            let is_for = |link: &Link| link.rail == number || topology.one_port && matches!(link.kind, Kind::Port(_));
            let found = self.links.iter().find(|link| link.place == place && is_for(link));
            found.map(|link| link.asked).unwrap_or_default()
        };
        let mut paths = Vec::new();
        // Where hosts have one port, the links within a cluster are no rails.
        let is_measured = |cluster: &Cluster| cluster.hosts > 1 && !topology.one_port;
        for (number, cluster) in topology.clusters.iter().enumerate().filter(|(_, cluster)| is_measured(cluster)) {
            let from = topology.hosts_of(number).start;
            let rails = rail(&|rail| vec![asked(&cluster.name, rail)]);
            let delays_us = rails.iter().map(|rails| 2.0 * us(rails)).collect();
            paths.push(Path { place: cluster.name.clone(), from, to: from + 1, rails, delays_us });
        }
        for wan in &topology.wans {
            let [one, other] = topology.clusters_of(wan);
            let near = |number: usize| {
                [&topology.clusters[one].name, &topology.clusters[other].name].map(|c| asked(c, number))
            };
            let rails = rail(&|number| {
                let mut all = vec![asked(&wan.name(), number)];
                all.extend(near(number).into_iter().filter(|_| switched));
                all
            });
            // A cluster's delay is on the way to its hosts.
            let delays_us = rails.iter().map(|rails| us(rails) + us(&rails[..1])).collect();
            let (from, to) = (topology.hosts_of(one).start, topology.hosts_of(other).start);
            paths.push(Path { place: wan.name(), from, to, rails, delays_us });
        }
        paths
    }

    fn measure_path(&self, path: &Path, seconds: f64) -> Result<Vec<Measured>> {
        let up = |rail: usize| self.links.iter().filter(|link| link.rail == rail).all(|link| link.up);
        let rails: Vec<usize> = (0..self.rails()).filter(|rail| up(*rail)).collect();
        let plain = self.plain_round_trips(path, seconds / 2.0)?;
        let mut round_trips = Vec::new();
        for rail in &rails {
            let address = self.hosts[path.to].rail_address(*rail).into();
            round_trips.push(self.round_trips(path, address, seconds / 2.0)?);
        }
        let longest = path.delays_us.iter().copied().fold(0.0, f64::max);
        let rates =
            self.rates([path.from, path.to], &rails, seconds, WARM_UP_S + WARM_UP_ROUND_TRIPS * longest / 1e6)?;
        let measured = rails.iter().zip(round_trips).zip(rates).map(|((rail, round_trip), mb_s)| {
            let all = &path.rails[*rail];
            let slowest = all.iter().filter_map(|rail| rail.rate_mbit.mbit()).min();
            Measured {
                place: path.place.clone(),
                rail: *rail,
                asked_mbit: slowest.map(f64::from),
                measured_mbit: mb_s * 8.0 * WIRE_BYTES / PAYLOAD_BYTES,
                asked_round_trip_us: path.delays_us[*rail],
                plain,
                round_trip,
                lossy: all.iter().any(|rail| rail.settings().can_lose()),
            }
        });
        Ok(measured.collect())
    }

    /// Round trips over a temporary link between the hosts without delay or shaping.
    fn plain_round_trips(&self, path: &Path, seconds: f64) -> Result<RoundTrips> {
        let (from, to) = (&self.hosts[path.from], &self.hosts[path.to]);
        let line = format!("link add plain netns {} type veth peer name plain netns {}\n", from.pid(), to.pid());
        self.batch(At::Here, "ip", &line)?;
        let found = [from, to].iter().try_for_each(|host| {
            let address = host.rail_address(PLAIN_NETWORK.into());
            host.batch("ip", &format!("address add {address}/24 dev plain\nlink set plain up\n"))
        });
        let found = found.and_then(|()| self.round_trips(path, to.rail_address(PLAIN_NETWORK.into()).into(), seconds));
        from.batch("ip", "link delete plain\n")?;
        found
    }

    fn round_trips(&self, path: &Path, address: IpAddr, seconds: f64) -> Result<RoundTrips> {
        let mut reflector = self.probe(path.to, &["reflect-datagrams".into(), address.to_string()])?;
        let line = ["measure-round-trips".into(), address.to_string(), seconds.to_string()];
        let found = self.probe(path.from, &line).and_then(read_result);
        end(&mut reflector);
        found
    }

    /// MB/s of payload on each of these rails, all at once.
    fn rates(&self, [from, to]: [usize; 2], rails: &[usize], seconds: f64, warm_up_s: f64) -> Result<Vec<f64>> {
        let addresses: Vec<String> = rails.iter().map(|rail| self.hosts[to].rail_address(*rail).to_string()).collect();
        let warm_up = format!("--warm-up={warm_up_s}");
        let receive = [vec!["receive-streams".into(), warm_up, seconds.to_string()], addresses.clone()].concat();
        let receiver = self.probe(to, &receive)?;
        let mut sender = self.probe(from, &[vec!["send-streams".into()], addresses].concat())?;
        let rates = read_result(receiver);
        end(&mut sender);
        rates
    }

    /// Starts this program's own subcommand on a host; ahead of other programs, where that is permitted, since their
    /// load is not to be measured.
    fn probe(&self, host: usize, words: &[String]) -> Result<Child> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut line: Vec<OsString> = Vec::new();
        if let Some(chrt) = programs::find("chrt")
            .filter(|chrt| programs::run_quietly(Command::new(chrt).args(["-r", "10", "true"]), "").is_ok())
        {
            line.extend([chrt.into(), "-r".into(), "10".into()]);
        }
        line.push(program.into());
        line.extend(words.iter().map(OsString::from));
        let mut command = self.command(host, &line);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().context("cannot start a measurement")
    }
}

/// Output of a probe.
fn read_result<T: for<'a> Deserialize<'a>>(probe: Child) -> Result<T> {
    let output = probe.wait_with_output().context("cannot wait for a measurement")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim().trim_start_matches("fishplate: "));
    }
    serde_json::from_slice(&output.stdout).context("a measurement's output is not understood")
}

/// Ends a probe, which may have ended by itself.
fn end(probe: &mut Child) {
    let _ = probe.kill();
    let _ = probe.wait();
}
