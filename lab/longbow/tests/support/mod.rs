//! Two hosts in namespaces, rails between them, and an emulator in a thread of its own.

pub mod host;
pub mod traffic;

use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fishplate_longbow::link::Settings;
use fishplate_longbow::{Backend, Direction, End, Plan, Rail, Ready, Request, Response, Status, offload_limit_bytes};

use host::Host;

/// How long links may take to come up; the kernel's own delay is at most a second.
const CARRIER_LIMIT: Duration = Duration::from_secs(10);

/// Two hosts, joined by rails.
pub struct Pair {
    pub a: Host,
    pub b: Host,
    emulator: Option<Driven>,
}

/// An emulator in a thread.
pub struct Driven {
    from: BufReader<UnixStream>,
    to: UnixStream,
    thread: JoinHandle<Result<()>>,
    pub ready: Ready,
}

impl Pair {
    /// Hosts with a rail for each of these settings, in both directions; `None`: plain veth.
    pub fn new(backend: Option<Backend>, rails: &[Settings]) -> Result<Pair> {
        let (a, b) = (Host::start("a")?, Host::start("b")?);
        let mut pair = Pair { a, b, emulator: None };
        if backend != Some(Backend::Tap) {
            for rail in 0..rails.len() {
                pair.join(rail)?;
            }
        }
        if let Some(backend) = backend {
            pair.emulator = Some(Driven::start(&pair.plan(backend, rails))?);
        }
        for (rail, settings) in rails.iter().enumerate() {
            pair.address(rail, settings)?;
        }
        Ok(pair)
    }

    pub fn plan(&self, backend: Backend, rails: &[Settings]) -> Plan {
        let end = |host: &Host, rail: usize| End { namespace: host.namespace(), interface: format!("r{rail}") };
        let rails = rails.iter().enumerate().map(|(rail, settings)| Rail {
            name: format!("r{rail}"),
            a: end(&self.a, rail),
            b: end(&self.b, rail),
            ab: settings.clone(),
            ba: settings.clone(),
        });
        Plan { backend, seed: 1, rails: rails.collect() }
    }

    fn join(&self, rail: usize) -> Result<()> {
        let (a, b) = (self.a.thread, self.b.thread);
        ip(&format!("link add r{rail} netns {a} type veth peer name r{rail} netns {b}")).map(drop)
    }

    fn address(&self, rail: usize, settings: &Settings) -> Result<()> {
        let limit = offload_limit_bytes(settings.rate);
        for (host, number) in [(&self.a, 1), (&self.b, 2)] {
            let lines = [
                format!("link set r{rail} gso_max_size {limit}"),
                format!("address add 10.78.{rail}.{number}/24 dev r{rail}"),
                format!("-6 address add fd78:{rail}::{number}/64 dev r{rail} nodad"),
                format!("link set r{rail} up"),
            ];
            host.run(move || lines.iter().try_for_each(|line| ip(line).map(drop)))?;
        }
        [&self.a, &self.b].iter().try_for_each(|host| host.run(move || await_carrier(&format!("r{rail}"))))
    }

    pub fn address_of_b(rail: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 78, rail as u8, 2)
    }

    pub fn emulator(&mut self) -> &mut Driven {
        self.emulator.as_mut().expect("a pair with an emulator")
    }

    /// Starts an emulator again.
    pub fn restart(&mut self, backend: Backend, rails: &[Settings]) -> Result<()> {
        self.emulator = Some(Driven::start(&self.plan(backend, rails))?);
        Ok(())
    }

    /// Ends the emulator.
    pub fn stop(&mut self) -> Result<()> {
        let Some(Driven { from, to, thread, .. }) = self.emulator.take() else { bail!("no emulator") };
        to.shutdown(std::net::Shutdown::Both)?;
        drop((from, to));
        thread.join().expect("the emulator does not panic")
    }
}

impl Driven {
    pub fn start(plan: &Plan) -> Result<Driven> {
        let (ours, theirs) = UnixStream::pair()?;
        let thread = std::thread::spawn(move || fishplate_longbow::serve(theirs.try_clone()?.into(), theirs.into()));
        let mut line = serde_json::to_string(plan)?;
        line.push('\n');
        let mut to = ours.try_clone()?;
        to.write_all(line.as_bytes())?;
        let mut from = BufReader::new(ours);
        match answer(&mut from)? {
            Response::Ready(ready) => Ok(Driven { from, to, thread, ready }),
            Response::Error(error) => bail!(error),
            other => bail!("{other:?}"),
        }
    }

    pub fn ask(&mut self, request: &Request) -> Result<Response> {
        self.say(&serde_json::to_string(request)?)
    }

    pub fn say(&mut self, line: &str) -> Result<Response> {
        writeln!(self.to, "{line}")?;
        answer(&mut self.from)
    }

    pub fn hear(&mut self) -> Result<Response> {
        answer(&mut self.from)
    }

    pub fn status(&mut self, reset: bool) -> Result<Status> {
        match self.ask(&Request::Status { reset })? {
            Response::Status(status) => Ok(status),
            other => bail!("{other:?}"),
        }
    }

    /// Changes both directions of a rail.
    pub fn set(&mut self, rail: &str, settings: &Settings) -> Result<()> {
        for direction in [Direction::Ab, Direction::Ba] {
            let request = Request::Set { rail: rail.to_string(), direction, settings: settings.clone() };
            ensure!(self.ask(&request)? == Response::Done);
        }
        Ok(())
    }
}

fn answer(from: &mut BufReader<UnixStream>) -> Result<Response> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    serde_json::from_str(&line).with_context(|| format!("\"{line}\""))
}

/// Waits until the interface carries, which the kernel lets be known with a delay of up to a second.
pub fn await_carrier(interface: &str) -> Result<()> {
    let deadline = Instant::now() + CARRIER_LIMIT;
    while ip(&format!("-brief link show {interface}"))?.contains("DOWN") {
        ensure!(Instant::now() < deadline, "{interface} does not come up");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Runs iproute2's `ip` in this thread's namespace. Returns what it says.
pub fn ip(line: &str) -> Result<String> {
    let output = Command::new("ip").args(line.split(' ')).output().context("`ip` is missing (package iproute2)")?;
    ensure!(output.status.success(), "ip {line}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
