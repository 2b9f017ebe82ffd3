//! Rails between real namespaces. Bounds are such that a busy machine cannot break them: nothing is faster than it was
//! asked to be, nothing sooner.
//!
//! A program of its own, since a user who is not root makes namespaces before there are threads.

// The example `measure` uses the rest of it.
#[allow(dead_code)]
mod support;

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fishplate_longbow::link::{Loss, Rate, Settings};
use fishplate_longbow::{Backend, Direction, EARLY_NS, Emulator, End, Plan, Rail, Request, Response, check, serve};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use support::host::Host;
use support::traffic::{changed_bits, datagrams, round_trips, streams};
use support::{Driven, Pair, await_carrier, ip};

/// With this argument the program is an emulator.
const SERVE: &str = "serve";

type Test = fn(Backend) -> Result<()>;

const TESTS: &[(&str, Test)] = &[
    ("streams_are_never_faster_than_their_rails", streams_are_never_faster_than_their_rails),
    ("round_trips_are_never_shorter_than_the_delay", round_trips_are_never_shorter_than_the_delay),
    ("a_change_holds_from_then_on", a_change_holds_from_then_on),
    ("frames_get_lost_as_packets", frames_get_lost_as_packets),
    ("bits_change_and_no_checksum_of_the_kernel_shows_it", bits_change_and_no_checksum_of_the_kernel_shows_it),
    ("packets_beyond_the_path_mtu_vanish", packets_beyond_the_path_mtu_vanish),
    ("a_full_queue_drops", a_full_queue_drops),
    ("without_an_emulator_a_rail_is_cut", without_an_emulator_a_rail_is_cut),
    ("requests_that_cannot_be_are_refused", requests_that_cannot_be_are_refused),
    ("plans_that_cannot_be_are_refused", plans_that_cannot_be_are_refused),
    ("an_emulator_in_a_process_is_driven_and_ends", an_emulator_in_a_process_is_driven_and_ends),
    ("a_check_leaves_nothing", a_check_leaves_nothing),
];

/// Switches have veth devices.
const TESTS_OF_NFQUEUE: &[(&str, Test)] = &[
    ("bridged_packets_are_delayed", bridged_packets_are_delayed),
    ("routed_packets_are_delayed", routed_packets_are_delayed),
];

fn main() {
    if std::env::args().nth(1).as_deref() == Some(SERVE) {
        let duplicate = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().expect("standard input and output");
        let served = serve(duplicate(std::io::stdin().as_fd()), duplicate(std::io::stdout().as_fd()));
        std::process::exit(i32::from(served.is_err()));
    }
    if let Err(reason) = permitted() {
        println!("skipped, no namespaces here: {reason:#}");
        return;
    }
    let only: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let mut failed = 0;
    for backend in [Backend::Nfqueue, Backend::Tap] {
        let usable = Host::start("trial").and_then(|host| check(backend, &host.namespace()));
        if let Err(reason) = usable {
            println!("skipped, no {backend:?} here: {reason:#}");
            continue;
        }
        let special = if backend == Backend::Nfqueue { TESTS_OF_NFQUEUE } else { &[] };
        for (name, test) in
            TESTS.iter().chain(special).filter(|(name, _)| only.is_empty() || only.iter().any(|o| name.contains(o)))
        {
            let done = test(backend);
            println!(
                "{backend:?} {name}: {}",
                done.as_ref().map_or_else(|error| format!("{error:#}"), |()| "ok".into())
            );
            failed += usize::from(done.is_err());
        }
    }
    assert_eq!(failed, 0, "tests failed");
}

fn permitted() -> Result<()> {
    support::host::permit()?;
    let host = Host::start("trial")?;
    host.run(|| ip("link set lo up")).map(drop)
}

fn settings(mbit: u64, delay_ns: u64) -> Settings {
    Settings { rate: Some(Rate::mbit(mbit)), delay_ns, ..Settings::default() }
}

fn least_round_trip(pair: &Pair, address: &str, count: usize) -> Result<u64> {
    Ok(round_trips(pair, address.parse::<SocketAddr>()?, count, Duration::ZERO)?[0])
}

fn streams_are_never_faster_than_their_rails(backend: Backend) -> Result<()> {
    let rails = [settings(100, 0), settings(400, 1_000_000)];
    let start = Instant::now();
    let mut pair = Pair::new(Some(backend), &rails)?;
    let received = streams(&mut pair, 2, 0.0, 0.7, |_| Ok(()))?;
    let elapsed = u64::try_from(start.elapsed().as_nanos())?;
    let status = pair.emulator().status(false)?;
    for (index, (rail, received)) in rails.iter().zip(received).enumerate() {
        let most = rail.rate.context("a rate")?.bytes_in(elapsed);
        let sent = status.lanes[2 * index].counters;
        ensure!(received.bytes > 0 && received.bytes < most, "{} of {most} bytes", received.bytes);
        ensure!(received.bytes < sent.delivered_bytes, "{} of {sent:?}", received.bytes);
        ensure!(sent.delivered_bytes <= rail.rate.context("a rate")?.bytes_in(elapsed + EARLY_NS), "{sent:?}");
    }
    ensure!(status.user_s + status.system_s > 0.0 && status.wakeups > 0);
    Ok(())
}

fn round_trips_are_never_shorter_than_the_delay(backend: Backend) -> Result<()> {
    let mut pair = Pair::new(Some(backend), &[settings(1000, 2_000_000)])?;
    for address in ["10.78.0.2:6000", "[fd78:0::2]:6000"] {
        let least = least_round_trip(&pair, address, 20)?;
        ensure!(least >= 2 * (2_000_000 - EARLY_NS), "{address}: {least} ns");
    }
    for lane in pair.emulator().status(false)?.lanes {
        ensure!(lane.lateness.frames >= 40 && lane.lateness.p99_ns > 0, "{lane:?}");
        ensure!(lane.lateness.mean_ns >= -(EARLY_NS as f64), "{lane:?}");
    }
    Ok(())
}

fn a_change_holds_from_then_on(backend: Backend) -> Result<()> {
    let mut pair = Pair::new(Some(backend), &[settings(1000, 0)])?;
    let traffic = |pair: &mut Pair| pair.emulator().set("r0", &settings(50, 10_000_000));
    streams(&mut pair, 1, 0.2, 0.3, traffic)?;
    let least = least_round_trip(&pair, "10.78.0.2:6000", 5)?;
    ensure!(least >= 2 * (10_000_000 - EARLY_NS), "{least} ns");
    pair.emulator().set("r0", &settings(1000, 1_000_000))?;
    let status = pair.emulator().status(true)?;
    ensure!(status.lanes[0].settings == settings(1000, 1_000_000), "{status:?}");
    Ok(())
}

fn frames_get_lost_as_packets(backend: Backend) -> Result<()> {
    let loss = |probability| Settings { loss: Loss::Independent(probability), ..settings(1000, 100_000) };
    let mut pair = Pair::new(Some(backend), &[loss(0.001)])?;
    streams(&mut pair, 1, 0.0, 0.5, |_| Ok(()))?;
    let counters = pair.emulator().status(false)?.lanes[0].counters;
    ensure!(counters.delivered_bytes <= 1538 * counters.delivered_frames, "{counters:?}");
    ensure!(counters.lost_bytes <= 1538 * counters.lost_frames, "{counters:?}");

    let send = |pair: &Pair| datagrams(pair, 400, 100, Duration::from_micros(200), Duration::from_millis(500));
    pair.emulator().set("r0", &loss(0.5))?;
    let arrived = send(&pair)?;
    ensure!((100..300).contains(&arrived), "{arrived} of 400");
    pair.emulator().set("r0", &loss(1.0))?;
    let arrived = send(&pair)?;
    ensure!(arrived == 0, "{arrived} of 400");
    Ok(())
}

fn bits_change_and_no_checksum_of_the_kernel_shows_it(backend: Backend) -> Result<()> {
    let flip = |flip| Settings { flip, ..settings(1000, 100_000) };
    let mut pair = Pair::new(Some(backend), &[flip(0.1)])?;
    let changed = changed_bits(&pair, 4 << 20)?;
    let flipped = pair.emulator().status(false)?.lanes[0].flipped_bits;
    // A packet that was sent again may have been changed in either copy, and one bit may have been changed back.
    ensure!(changed > 50 && changed <= flipped, "{changed} of {flipped}");
    let arrived = datagrams(&pair, 100, 1000, Duration::from_millis(1), Duration::from_millis(500))?;
    ensure!(arrived == 100, "{arrived} of 100 datagrams");
    pair.emulator().set("r0", &flip(0.0))?;
    let changed = changed_bits(&pair, 1 << 20)?;
    ensure!(changed == 0, "{changed}");
    Ok(())
}

fn packets_beyond_the_path_mtu_vanish(backend: Backend) -> Result<()> {
    let narrow = Settings { path_mtu: Some(1000), ..settings(1000, 100_000) };
    let pair = Pair::new(Some(backend), &[narrow])?;
    for (bytes, passes) in [(900, true), (1100, false)] {
        let arrived = datagrams(&pair, 20, bytes, Duration::from_millis(1), Duration::from_millis(500))?;
        ensure!(arrived == if passes { 20 } else { 0 }, "{bytes} bytes: {arrived} of 20");
    }
    Ok(())
}

fn a_full_queue_drops(backend: Backend) -> Result<()> {
    let small = Settings { queue_bytes: Some(5_000), ..settings(1, 0) };
    let mut pair = Pair::new(Some(backend), &[small])?;
    let arrived = datagrams(&pair, 200, 1000, Duration::ZERO, Duration::from_millis(500))?;
    let lane = pair.emulator().status(false)?.lanes.remove(0);
    ensure!(arrived > 0 && arrived < 200, "{arrived} of 200");
    ensure!(lane.counters.dropped_frames > 0 && lane.counters.queue_peak_bytes <= 5_000, "{lane:?}");
    Ok(())
}

fn without_an_emulator_a_rail_is_cut(backend: Backend) -> Result<()> {
    let mut pair = Pair::new(Some(backend), &[settings(1000, 0)])?;
    let send = |pair: &Pair| datagrams(pair, 20, 100, Duration::from_millis(1), Duration::from_millis(500));
    ensure!(send(&pair)? > 0);
    pair.stop()?;
    if backend == Backend::Tap {
        // The devices have gone with it.
        let address = pair.a.run(|| ip("link show r0"));
        ensure!(address.is_err(), "there is still a device");
        return Ok(());
    }
    ensure!(send(&pair)? == 0, "packets pass without an emulator");
    pair.restart(backend, &[settings(1000, 0)])?;
    ensure!(send(&pair)? > 0, "a new emulator does not take over");
    Ok(())
}

fn requests_that_cannot_be_are_refused(backend: Backend) -> Result<()> {
    let mut pair = Pair::new(Some(backend), &[settings(1000, 0)])?;
    let set = |rail: &str, settings| Request::Set { rail: rail.into(), direction: Direction::Ab, settings };
    let emulator = pair.emulator();
    refused(emulator.ask(&set("r7", settings(1, 0)))?, "there is no rail r7")?;
    let wrong = Settings { loss: Loss::Independent(2.0), ..settings(1, 0) };
    refused(emulator.ask(&set("r0", wrong))?, "the probability of loss is from 0 to 1, not 2")?;
    refused(emulator.say("{\"fly\": 1}")?, "not a request")?;
    refused(emulator.say("one\ntwo")?, "not a request")?;
    refused(emulator.hear()?, "not a request")?;
    refused(
        emulator.say("{\"set\": {\"rail\": \"r0\", \"direction\": \"ab\", \"settings\": {\"rate\": 0}}}")?,
        "a rate is from 8",
    )?;
    emulator.status(false)?;
    Ok(())
}

fn refused(response: Response, what: &str) -> Result<()> {
    ensure!(matches!(&response, Response::Error(error) if error.contains(what)), "{what}: {response:?}");
    Ok(())
}

fn plans_that_cannot_be_are_refused(backend: Backend) -> Result<()> {
    let pair = Pair::new(None, &[])?;
    let mut plan = pair.plan(backend, &[settings(1000, 0)]);
    if backend == Backend::Nfqueue {
        refuses(&plan, "no interface r0")?;
    }
    plan.rails[0].b.namespace = "/nowhere".into();
    refuses(&plan, "cannot open namespace /nowhere")?;
    plan.rails[0].b.namespace = "/proc/self/ns/uts".into();
    refuses(&plan, "cannot enter namespace /proc/self/ns/uts")
}

fn refuses(plan: &Plan, what: &str) -> Result<()> {
    let refusal = Driven::start(plan).err().map(|error| format!("{error:#}"));
    ensure!(refusal.as_ref().is_some_and(|text| text.contains(what)), "{what}: {refusal:?}");
    Ok(())
}

fn an_emulator_in_a_process_is_driven_and_ends(backend: Backend) -> Result<()> {
    let rails = [settings(1000, 1_000_000)];
    let pair = Pair::new(None, if backend == Backend::Nfqueue { &rails } else { &[] })?;
    let plan = pair.plan(backend, &rails);
    let start = |plan: &Plan| {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(SERVE);
        Emulator::start(command, plan)
    };
    let mut emulator = start(&plan)?;
    emulator.set("r0", Direction::Ba, &settings(500, 0))?;
    ensure!(emulator.status(false)?.lanes[1].settings == settings(500, 0));
    let refusal = emulator.set("r1", Direction::Ab, &settings(500, 0)).unwrap_err();
    ensure!(format!("{refusal:#}") == "there is no rail r1", "{refusal:#}");

    kill(Pid::from_raw(emulator.process_id().try_into()?), Signal::SIGKILL)?;
    let refusal = emulator.status(false).unwrap_err();
    ensure!(format!("{refusal:#}").contains("the emulator is gone"), "{refusal:#}");
    drop(emulator);

    let emulator = start(&plan)?;
    let process = format!("/proc/{}", emulator.process_id());
    drop(emulator);
    ensure!(!Path::new(&process).exists(), "the emulator outlives who drove it");

    let nowhere = End { namespace: "/nowhere".into(), interface: "r0".into() };
    let plan = Plan { rails: vec![Rail { b: nowhere, ..plan.rails[0].clone() }], ..plan };
    let refusal = start(&plan).err().context("a plan with a namespace that is not there")?;
    ensure!(format!("{refusal:#}").contains("cannot open namespace /nowhere"), "{refusal:#}");
    Ok(())
}

fn a_check_leaves_nothing(backend: Backend) -> Result<()> {
    let host = Host::start("a")?;
    host.run(|| ip("link set lo up"))?;
    check(backend, &host.namespace())?;
    ensure!(check(backend, Path::new("/nowhere")).is_err());
    host.run(|| {
        let socket = std::net::UdpSocket::bind("127.0.0.1:7000")?;
        socket.set_read_timeout(Some(Duration::from_secs(5)))?;
        socket.send_to(&[1], "127.0.0.1:7000")?;
        socket.recv(&mut [0]).context("the loopback interface is cut")?;
        ensure!(ip("link show fishplate-try").is_err());
        Ok(())
    })
}

fn bridged_packets_are_delayed(backend: Backend) -> Result<()> {
    const BRIDGE: &[&str] = &[
        "link add s type bridge forward_delay 0",
        "link set dev a master s",
        "link set dev b master s",
        "link set dev s up",
    ];
    forwarded_frames_are_delayed(backend, BRIDGE, ["10.78.0.1/16", "10.78.1.2/16"])
}

fn routed_packets_are_delayed(backend: Backend) -> Result<()> {
    const ROUTER: &[&str] = &["address add 10.78.0.254/24 dev a", "address add 10.78.1.254/24 dev b"];
    forwarded_frames_are_delayed(backend, ROUTER, ["10.78.0.1/24", "10.78.1.2/24"])
}

/// a - switch - b: what the switch gets from a is delayed there, what a gets from the switch is delayed at a.
fn forwarded_frames_are_delayed(backend: Backend, switch_lines: &'static [&str], addresses: [&str; 2]) -> Result<()> {
    let (pair, switch) = (Pair::new(None, &[])?, Host::start("switch")?);
    let (a, b, s) = (pair.a.thread, pair.b.thread, switch.thread);
    ip(&format!("link add r0 netns {a} type veth peer name a netns {s}"))?;
    ip(&format!("link add r0 netns {b} type veth peer name b netns {s}"))?;
    switch.run(move || {
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
        ["link set dev a up", "link set dev b up"].iter().chain(switch_lines).try_for_each(|line| ip(line).map(drop))
    })?;
    for (host, address, beyond) in [(&pair.a, addresses[0], 0), (&pair.b, addresses[1], 1)] {
        let lines = [format!("address add {address} dev r0"), "link set r0 up".into()];
        let route = format!("route add default via 10.78.{beyond}.254");
        host.run(move || lines.iter().chain([&route]).try_for_each(|line| ip(line).map(drop)))?;
    }
    [&pair.a, &pair.b].iter().try_for_each(|host| host.run(|| await_carrier("r0")))?;

    let end = |host: &Host, interface: &str| End { namespace: host.namespace(), interface: interface.into() };
    let rail = Rail {
        name: "wan".into(),
        a: end(&pair.a, "r0"),
        b: end(&switch, "a"),
        ab: settings(1000, 3_000_000),
        ba: settings(1000, 2_000_000),
    };
    let mut emulator = Driven::start(&Plan { backend, seed: 1, rails: vec![rail] })?;
    if switch_lines[0].contains("bridge") && emulator.ready.notes.iter().any(|note| note.contains("bridge")) {
        println!("skipped: {:?}", emulator.ready.notes);
        return Ok(());
    }
    let least = least_round_trip(&pair, "10.78.1.2:6000", 10)?;
    ensure!(least >= 5_000_000 - 2 * EARLY_NS, "{least} ns");
    ensure!(emulator.status(false)?.lanes.iter().all(|lane| lane.counters.delivered_frames >= 10));
    Ok(())
}
