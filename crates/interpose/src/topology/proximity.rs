//! Which hosts are near each other, from round trip times.

/// Round trips up to this are near. Hosts of one building answer a small message over TCP in 20 to 200 us, whatever the
/// switches between them; light in a fibre needs this long for 30 km and back.
pub const NEAR_NS: u64 = 300_000;

/// Where others are much farther, a busy host is still near: up to the farthest divided by this,
const FACTOR: u64 = 3;
/// but no more than this, which no network of one building takes.
const CEILING_NS: u64 = 1_000_000;

/// Most clusters that are told apart. With more than this hosts are everywhere, and what is near is of no use.
pub const MAX_CLUSTERS: usize = 16;

/// Which of some hosts are near one, by the round trip time to each; `farthest_ns` is the longest between any hosts, as
/// far as is known.
pub fn near(round_trips_ns: &[u64], farthest_ns: u64) -> Vec<bool> {
    let limit_ns = NEAR_NS.max(CEILING_NS.min(farthest_ns / FACTOR));
    round_trips_ns.iter().map(|round_trip_ns| *round_trip_ns <= limit_ns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near_in_its_row(round_trips_ns: &[u64]) -> Vec<bool> {
        near(round_trips_ns, round_trips_ns.iter().max().copied().unwrap_or(0))
    }

    #[test]
    fn a_millisecond_away_is_far_and_a_switch_away_is_near() {
        assert_eq!(near_in_its_row(&[60_000, 2_100_000, 45_000, 2_300_000]), [true, false, true, false]);
        assert_eq!(near_in_its_row(&[2_100_000]), [false]);
        assert_eq!(near_in_its_row(&[]), [false; 0]);
    }

    #[test]
    fn a_busy_host_is_near_when_others_are_much_farther() {
        assert_eq!(near_in_its_row(&[90_000, 600_000, 2_100_000]), [true, true, false]);
        assert_eq!(near_in_its_row(&[90_000, 1_200_000, 20_000_000]), [true, false, false]);
        // Also when only those of the second site are left to look at.
        assert_eq!(near(&[600_000], 2_100_000), [true]);
    }

    #[test]
    fn equally_far_hosts_are_far() {
        assert_eq!(near_in_its_row(&[2_100_000, 2_000_000, 2_200_000]), [false; 3]);
    }
}
