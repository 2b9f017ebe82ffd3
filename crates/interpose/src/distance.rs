//! Which hosts are near each other, from round trip times.

/// Round trips up to this are near. Hosts of one building answer a small message over TCP in 20 to 200 us, whatever the
/// switches between them; light in a fibre needs this long for 30 km and back.
const FLOOR_NS: u64 = 300_000;

/// A host is also near if its round trip is at most this times the longest that is near already. Within one network
/// times differ by less, even when hosts are busy; to the next site they grow by more.
const FACTOR: u64 = 3;

/// Most clusters that are told apart. With more than this hosts are everywhere, and what is near is of no use.
pub const MOST_CLUSTERS: usize = 16;

/// Which of some hosts are near one, by the round trip time to each.
pub fn near(round_trips_ns: &[u64]) -> Vec<bool> {
    let mut order: Vec<u64> = round_trips_ns.to_vec();
    order.sort_unstable();
    let mut limit_ns = FLOOR_NS;
    for round_trip_ns in order {
        if round_trip_ns > limit_ns {
            break;
        }
        limit_ns = limit_ns.max(round_trip_ns.saturating_mul(FACTOR));
    }
    round_trips_ns.iter().map(|round_trip_ns| *round_trip_ns <= limit_ns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_millisecond_away_is_far_and_a_switch_away_is_near() {
        assert_eq!(near(&[60_000, 2_100_000, 45_000, 2_300_000]), [true, false, true, false]);
        assert_eq!(near(&[2_100_000]), [false]);
        assert_eq!(near(&[]), [false; 0]);
    }

    #[test]
    fn a_busy_network_is_still_one() {
        assert_eq!(near(&[90_000, 280_000, 700_000, 1_900_000]), [true; 4]);
    }

    #[test]
    fn two_sites_are_told_apart_behind_a_busy_network() {
        assert_eq!(near(&[90_000, 280_000, 2_600_000]), [true, true, false]);
    }
}
