//! Decides from round trip times which hosts are near each other.

/// Upper limit of a round trip between near hosts. Hosts of one building answer a small message over TCP in 20 to 200 us,
/// whatever the switches between them; light in a fibre takes this time for 30 km and back.
pub const NEAR_NS: u64 = 300_000;

/// If others are much farther, a busy host is still near: up to the longest round trip divided by this factor,
const FACTOR: u64 = 3;
/// but at most this limit, which no network of one building exceeds.
const CEILING_NS: u64 = 1_000_000;

/// Limit of the number of clusters. With more, hosts are scattered, and proximity is of no use.
pub const MAX_CLUSTERS: usize = 16;

/// Which hosts are near one host, from the round trip time to each. `farthest_ns`: the longest known round trip between any
/// hosts.
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
        // Also if only hosts of the second site are left.
        assert_eq!(near(&[600_000], 2_100_000), [true]);
    }

    #[test]
    fn equally_far_hosts_are_far() {
        assert_eq!(near_in_its_row(&[2_100_000, 2_000_000, 2_200_000]), [false; 3]);
    }
}
