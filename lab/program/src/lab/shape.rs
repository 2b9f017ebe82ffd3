//! Traffic shaping: rates by the kernel's shaper (HTB); delay, loss and queues by the emulator.

use std::process::Command;

use anyhow::{Context, Result, bail};
use fishplate_longbow::{Backend, Direction, Emulator, End as PlannedEnd, Plan, Rail as PlannedRail};
use fishplate_longbow::{check, link::Settings, offload_limit_bytes};

use super::Lab;
use super::link::{At, End, Kind, Link};
use super::rail::Rail;
use super::topology::Choice;

/// One instruction of the kernel's packet filter: whatever comes is dropped.
const DROP: &str = "'1,6 0 0 2'";

/// An emulator and what it serves.
pub struct Emulation {
    pub emulator: Emulator,
    pub backend: Backend,
    /// Names of its links.
    pub links: Vec<String>,
    /// Processor time when it was last reported, in seconds: busy, running.
    pub last_usage: (f64, f64),
}

impl Lab {
    /// How links are to be emulated, if any are.
    pub(super) fn choose_backend(&mut self) -> Result<Option<Backend>> {
        let rates_alone = self.links.iter().all(|link| link.asked.is_rate_alone());
        let here = self.namespace(At::Host(0));
        match self.topology.emulator {
            Choice::Auto if rates_alone => Ok(None),
            Choice::Auto => match check(Backend::Nfqueue, &here) {
                Ok(()) => Ok(Some(Backend::Nfqueue)),
                Err(error) => {
                    self.notes.push(format!("TAP devices instead of NFQUEUE: {error:#}"));
                    check(Backend::Tap, &here).context("delays cannot be emulated here")?;
                    Ok(Some(Backend::Tap))
                }
            },
            Choice::Nfqueue => check(Backend::Nfqueue, &here).map(|()| Some(Backend::Nfqueue)),
            Choice::Tap => check(Backend::Tap, &here).map(|()| Some(Backend::Tap)),
        }
    }

    /// Whether the emulator serves a link from the beginning: all but switch ports that have a rate alone.
    pub(super) fn is_for_emulator(link: &Link) -> bool {
        !matches!(link.kind, Kind::Port(_)) || !link.asked.is_rate_alone()
    }

    /// Starts an emulator for these links. Frames in an earlier one are lost.
    pub(super) fn start_emulator(&mut self, backend: Backend, links: Vec<String>) -> Result<()> {
        let served = self.links.iter().filter(|link| links.contains(&link.name));
        let end = |end: &End| PlannedEnd { namespace: self.namespace(end.at), interface: end.interface.clone() };
        let rails = served.map(|link| PlannedRail {
            name: link.name.clone(),
            a: end(&link.a),
            b: end(&link.b),
            ab: link.asked.settings(),
            ba: backward(link),
        });
        let plan = Plan { backend, seed: self.topology.seed, rails: rails.collect() };
        self.emulation = None;
        let mut command = Command::new(std::env::current_exe().context("cannot find this program's own file")?);
        command.arg("emulate-links");
        let emulator = Emulator::start(command, &plan).context("cannot emulate links")?;
        for note in &emulator.ready().notes {
            if !self.notes.contains(note) && !note.contains("a bridge forwards") {
                self.notes.push(note.clone());
            }
        }
        self.emulation = Some(Emulation { emulator, backend, links, last_usage: (0.0, 0.0) });
        Ok(())
    }

    /// Makes a link what it is asked to be now.
    pub(super) fn apply(&mut self, number: usize) -> Result<()> {
        let link = self.links[number].clone();
        let deaf = !self.is_emulated(&link) && link.asked.loses_all_alone() && self.drop_all(&link, true).is_ok();
        if deaf {
            return Ok(());
        }
        self.drop_all(&link, false)?;
        if !self.is_emulated(&link) && !link.asked.is_rate_alone() {
            self.emulate_also(&link)?;
        }
        let emulated = self.is_emulated(&link);
        if let Some(emulation) = self.emulation.as_mut().filter(|_| emulated) {
            emulation.emulator.set(&link.name, Direction::Ab, &link.asked.settings())?;
            emulation.emulator.set(&link.name, Direction::Ba, &backward(&link))?;
        }
        // The emulator does not know flows.
        let is_kernels = !emulated || link.asked.flow_limit.is_some();
        if is_kernels {
            self.shape(&link.a, &link.asked)?;
        }
        if is_kernels || matches!(link.kind, Kind::Port(_)) {
            self.shape(&link.b, &link.asked)?;
        }
        self.limit_offload(link.rail)
    }

    /// Has the ends of a link drop all that comes, which needs no emulator, or no longer.
    fn drop_all(&mut self, link: &Link, drop: bool) -> Result<()> {
        if self.deaf.contains(&link.name) == drop {
            return Ok(());
        }
        for End { at, interface } in link.ends() {
            let lines = match drop {
                true => format!(
                    "qdisc add dev {interface} clsact\nfilter add dev {interface} ingress bpf da bytecode {DROP}\n"
                ),
                false => format!("qdisc del dev {interface} clsact\n"),
            };
            self.batch(*at, "tc", &lines).with_context(|| format!("cannot drop packets of rail {}", link.name))?;
        }
        if drop {
            self.deaf.insert(link.name.clone())
        } else {
            self.deaf.remove(&link.name)
        };
        Ok(())
    }

    /// Lets an emulator take over a link that the kernel's shaper had.
    fn emulate_also(&mut self, link: &Link) -> Result<()> {
        let mut links: Vec<String> = match &self.emulation {
            Some(emulation) => emulation.links.clone(),
            None => self.links.iter().filter(|link| Lab::is_for_emulator(link)).map(|link| link.name.clone()).collect(),
        };
        if !links.contains(&link.name) {
            links.push(link.name.clone());
        }
        if self.emulation.as_ref().is_some_and(|emulation| emulation.backend == Backend::Tap) {
            bail!("rail {} has a rate alone, and TAP devices cannot take it over", link.name);
        }
        self.start_emulator(Backend::Nfqueue, links.clone())?;
        for link in self.links.clone().iter().filter(|link| links.contains(&link.name)) {
            let asked = if link.asked.flow_limit.is_some() { link.asked } else { Rail::default() };
            self.shape(&link.a, &asked)?;
            self.shape(&link.b, &asked)?;
        }
        Ok(())
    }

    /// Whether the emulator serves this link.
    pub(super) fn is_emulated(&self, link: &Link) -> bool {
        self.emulation.as_ref().is_some_and(|emulation| emulation.links.contains(&link.name))
    }

    /// Gives an interface a rate at which it sends, bursts, and a limit of its flows.
    fn shape(&self, end: &End, asked: &Rail) -> Result<()> {
        let (device, rate) = (&end.interface, asked.rate_mbit);
        if self.batch(end.at, "tc", &rate.tc_lines(device, asked.burst, asked.flow_limit)).is_ok() {
            return Ok(());
        }
        let problem = || format!("cannot give {device} a rate of {rate}");
        let lines = rate.tc_install_lines(device, asked.burst, asked.flow_limit);
        self.batch(end.at, "tc", &lines).with_context(problem)
    }

    /// Keeps offload frames as short as the slowest link that they pass wants them.
    pub(super) fn limit_offload(&self, rail: usize) -> Result<()> {
        if self.emulation.is_none() {
            return Ok(());
        }
        let limit = self
            .links_of_rail(rail)
            .map(|link| offload_limit_bytes(link.asked.settings().rate))
            .min()
            .unwrap_or(u32::MAX);
        let set = |end: &End| self.batch(end.at, "ip", &format!("link set {} gso_max_size {limit}\n", end.interface));
        self.ends_of_rail(rail).into_iter().try_for_each(set).context("cannot limit offload frames")
    }
}

/// Settings of traffic from a link's end `b`. From a host to its switch, the kernel's shaper sets the rate; delay and
/// loss apply to the way from the switch.
fn backward(link: &Link) -> Settings {
    match link.kind {
        Kind::Port(_) => Settings::default(),
        Kind::Direct | Kind::Wan(_) => link.asked.settings(),
    }
}
