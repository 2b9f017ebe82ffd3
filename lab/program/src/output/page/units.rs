//! Numbers with units, for people.

/// Steps from a unit to the next larger one.
const LADDERS: [&[&str]; 4] = [
    &["ns", "us", "ms", "s"],
    &["B", "kB", "MB", "GB", "TB", "PB"],
    &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"],
    &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"],
];
/// Events a second: 1250 of them are `1.25k/s`.
const EVENTS: &str = "1/s";
const PREFIXES: [&str; 5] = ["", "k", "M", "G", "T"];

/// `4 MiB`, `64 KiB`, `8 B`.
pub fn size(size: u64) -> String {
    match size {
        s if s >= 1 << 30 && s % (1 << 30) == 0 => format!("{} GiB", s >> 30),
        s if s >= 1 << 20 && s % (1 << 20) == 0 => format!("{} MiB", s >> 20),
        s if s >= 1 << 10 && s % (1 << 10) == 0 => format!("{} KiB", s >> 10),
        s => format!("{s} B"),
    }
}

/// Three digits of a value in the unit that suits it: 1250 `us` is `1.25 ms`.
pub fn quantity(value: f64, unit: &str) -> String {
    let (value, unit) = scaled(value, unit);
    format!("{}{unit}", digits(value))
}

/// From one value to another: the unit once, where one suits both.
pub fn range(from: f64, to: f64, unit: &str) -> String {
    let ((low, low_unit), (high, high_unit)) = (scaled(from, unit), scaled(to, unit));
    let first = if low_unit == high_unit { digits(low) } else { format!("{}{low_unit}", digits(low)) };
    format!("{first}–{}{high_unit}", digits(high))
}

/// A round number with its unit, as of an axis: without trailing zeros.
pub fn round(value: f64, unit: &str) -> String {
    let (value, unit) = scaled(value, unit);
    let text = digits(value);
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short}{unit}")
}

/// Whether larger values of a unit have names of their own (`ms`, `GB/s`), or only prefixes (`k`, `M`).
pub fn has_ladder(unit: &str) -> bool {
    unit == EVENTS || LADDERS.iter().any(|ladder| ladder.contains(&unit))
}

/// Three digits, more in front of the point where it takes them.
pub fn digits(value: f64) -> String {
    let size = value.abs();
    let places = match size {
        0.0 => 0,
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

/// Climbs the unit's ladder; units without one get a prefix. What comes back follows the number as it is.
fn scaled(value: f64, unit: &str) -> (f64, String) {
    let found = LADDERS.iter().find_map(|ladder| Some((*ladder, ladder.iter().position(|step| *step == unit)?)));
    let (ladder, start) = found.unwrap_or((&PREFIXES, 0));
    let (mut value, mut step) = (value, start);
    while value.abs() >= 999.5 && step + 1 < ladder.len() {
        value /= 1000.0;
        step += 1;
    }
    let unit = match (found, unit) {
        (Some(_), _) => format!(" {}", ladder[step]),
        (None, "") => ladder[step].to_string(),
        (None, EVENTS) => format!("{}/s", ladder[step]),
        (None, unit) => format!("{} {unit}", ladder[step]),
    };
    (value, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_names() {
        assert_eq!(size(8), "8 B");
        assert_eq!(size(65536), "64 KiB");
        assert_eq!(size(4 << 20), "4 MiB");
        assert_eq!(size(1500), "1500 B");
        assert_eq!(size(0), "0 B");
    }

    #[test]
    fn quantities_suit_their_unit() {
        assert_eq!(quantity(1250.0, "us"), "1.25 ms");
        assert_eq!(quantity(0.25, "us"), "0.250 us");
        assert_eq!(quantity(118.4, "MB/s"), "118 MB/s");
        assert_eq!(quantity(1184.0, "MB/s"), "1.18 GB/s");
        assert_eq!(quantity(1_234_000.0, "messages/s"), "1.23M messages/s");
        assert_eq!(quantity(0.0, "us"), "0 us");
        assert_eq!(quantity(7.0, ""), "7.00");
        assert_eq!(quantity(1_234_000.0, "1/s"), "1.23M/s");
        assert_eq!(quantity(64.0, "messages/s"), "64.0 messages/s");
        assert_eq!(range(990.0, 1200.0, "us"), "990 us–1.20 ms");
        assert_eq!(range(98.0, 101.0, "MB/s"), "98.0–101 MB/s");
        assert_eq!(round(500_000.0, ""), "500k");
        assert_eq!(round(10_000.0, "us"), "10 ms");
        assert_eq!(round(250.0, "Mbit/s"), "250 Mbit/s");
        assert_eq!(round(2.5, "MB/s"), "2.5 MB/s");
    }
}
