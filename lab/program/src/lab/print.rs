//! Tables of labs.

use super::control::Status;
use super::measure::Measured;
use crate::output::text;

/// Asked beside measured.
pub fn measured(all: &[Measured]) -> String {
    let titles =
        ["rail", "Mbit/s configured", "measured", "off", "round trip us configured", "mean", "p99", "plain veth"];
    let mut table = text::table(&titles, 1);
    for rail in all {
        let off = rail.asked_mbit.map(|asked| format!("{:+.1} %", (rail.measured_mbit / asked - 1.0) * 100.0));
        table.add_row([
            format!("{}.r{}", rail.place, rail.rail),
            rail.asked_mbit.map_or("-".into(), |asked| format!("{asked:.0}")),
            format!("{:.1}", rail.measured_mbit),
            off.unwrap_or("-".into()),
            format!("+{:.0}", rail.asked_round_trip_us),
            format!("{:.0}", rail.round_trip.mean_us),
            format!("{:.0}", rail.round_trip.p99_us),
            format!("{:.0}", rail.plain.mean_us),
        ]);
    }
    table.to_string()
}

/// Everything of a lab.
pub fn status(status: &Status) -> String {
    let mut text = hosts(status) + "\n\n" + &links(status);
    if !status.measured.is_empty() {
        text += &format!("\n\n{}", measured(&status.measured));
    }
    text += &format!("\n\nlinks by {}", status.shaping);
    if let (Some(emulated), Some(cpu)) = (&status.emulated, status.emulator_cpu) {
        text += &format!(
            "; the emulator took {:.1} % of a core since the last status, {:.1} s in all",
            cpu * 100.0,
            emulated.user_s + emulated.system_s
        );
    }
    text += &status.storage.as_ref().map_or(String::new(), |storage| format!("; storage: {storage}"));
    if status.scheduled > 0 {
        text += &format!("; {} changes to come", status.scheduled);
    }
    text
}

fn hosts(status: &Status) -> String {
    let mut table = text::table(&["host", "cluster", "rails"], usize::MAX);
    for host in &status.hosts {
        table.add_row([host.name.clone(), host.cluster.clone(), host.addresses.join("  ")]);
    }
    table.to_string()
}

fn links(status: &Status) -> String {
    let titles =
        ["link", "asked", "", "sent", "dropped", "lost", "changed", "queue peak", "late us mean", "p99", "max"];
    let mut table = text::table(&titles, 3);
    for link in &status.links {
        let lanes = status.emulated.iter().flat_map(|emulated| &emulated.lanes);
        let lanes: Vec<_> = lanes.filter(|lane| lane.rail == link.name).collect();
        let sum =
            |count: &dyn Fn(&fishplate_longbow::LaneStatus) -> u64| lanes.iter().map(|lane| count(lane)).sum::<u64>();
        let mishaps = sum(&|lane| lane.mishaps);
        let state = match (link.up, link.emulated, mishaps) {
            (false, ..) => "down".to_string(),
            (true, false, _) => "up, HTB".into(),
            (true, true, 0) => "up".into(),
            (true, true, count) => format!("up, {count} mishaps: suspect"),
        };
        let mut row = vec![link.name.clone(), link.asked.to_string(), state];
        if link.emulated && !lanes.is_empty() {
            let most = |value: &dyn Fn(&fishplate_longbow::LaneStatus) -> f64| {
                format!("{:.0}", lanes.iter().map(|lane| value(lane)).fold(f64::MIN, f64::max))
            };
            row.extend([
                text::bytes(sum(&|lane| lane.counters.delivered_bytes)),
                sum(&|lane| lane.counters.dropped_frames).to_string(),
                sum(&|lane| lane.counters.lost_frames).to_string(),
                sum(&|lane| lane.flipped_bits).to_string(),
                text::bytes(lanes.iter().map(|lane| lane.counters.queue_peak_bytes).max().unwrap_or(0)),
                most(&|lane| lane.lateness.mean_ns / 1e3),
                most(&|lane| lane.lateness.p99_ns as f64 / 1e3),
                most(&|lane| lane.lateness.max_ns as f64 / 1e3),
            ]);
        } else {
            row.extend(std::iter::repeat_n("-".to_string(), 8));
        }
        table.add_row(row);
    }
    table.to_string()
}
