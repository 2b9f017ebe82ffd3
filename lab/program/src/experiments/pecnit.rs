//! pecnit-2007: two interconnects, one nearer and faster than the other.

use super::judgement::{Fact, Judgement, Null, TOLERANCE, found, near};
use super::medians::{At, Values};

const KIB: u64 = 1 << 10;
const LARGE: u64 = 1 << 20;
const STACK: &str = "fishplate-mpich";
/// Links that stand for Quadrics and for InfiniBand.
const LINKS: [&str; 2] = ["near", "far"];

pub const FACTS: &[Fact] = &[
    Fact {
        id: "D1",
        text: "Latency of 4 B: 2.40 us on Quadrics, 4.90 on InfiniBand",
        null: Null::Alike,
        decide: latency,
    },
    Fact {
        id: "D2",
        text: "Peak one way: 900 MB/s on Quadrics, 768 on InfiniBand",
        null: Null::Given("links have the rates that were asked for"),
        decide: peaks,
    },
    Fact {
        id: "D3",
        text: "Half of the peak is reached between 1 KB and 2 KB on both",
        null: Null::Alike,
        decide: half_of_peak,
    },
    Fact {
        id: "D4",
        text: "Both ways: 900 MB/s on both; InfiniBand is ahead for small and medium messages",
        null: Null::Alike,
        decide: both_ways,
    },
    Fact {
        id: "D5",
        text: "Put of 4 B: 8.11 us on InfiniBand, 29.85 on Quadrics",
        null: Null::Alike,
        decide: put_latency,
    },
    Fact {
        id: "D6",
        text: "Get of 4 B: 16.72 us on InfiniBand, 32.53 on Quadrics; 0 bytes clearly below 1 byte",
        null: Null::Alike,
        decide: get_latency,
    },
    Fact {
        id: "D7",
        text: "Accumulate of 4 B: 8.17 us on InfiniBand, 40.61 on Quadrics, where 4 KB take three times as long as 2 KB",
        null: Null::Alike,
        decide: accumulate_latency,
    },
    Fact {
        id: "D8",
        text: "Put bandwidth: Quadrics above InfiniBand, which reaches its two-sided peak, Quadrics slightly less",
        null: Null::Given("links have the rates that were asked for, and puts and messages fill them"),
        decide: put_bandwidth,
    },
    Fact { id: "D9", text: "Put both ways: 900 MB/s on both from 16 KB on", null: Null::Apart, decide: put_both_ways },
    Fact {
        id: "D10",
        text: "Get bandwidth: InfiniBand ahead below 32 KB, Quadrics from there on",
        null: Null::Alike,
        decide: get_bandwidth,
    },
    Fact {
        id: "D11",
        text: "n-hop on Quadrics: almost flat",
        null: Null::Given("no switches are between the hosts"),
        decide: hops,
    },
    Fact {
        id: "D12",
        text: "Displaced ring of 1 MB: no contention",
        null: Null::Given("each host has links of its own"),
        decide: ring,
    },
];

/// A value on both links.
fn on_both(values: &Values, benchmark: &str, size: u64) -> Result<[f64; 2], String> {
    let median = |link| values.median(STACK, At { benchmark, link, size });
    Ok([median(LINKS[0])?, median(LINKS[1])?])
}

fn latency(values: &Values) -> Judgement {
    let [quadrics, infiniband] = on_both(values, "latency", 4)?;
    let rule = "far over near, 4.90 / 2.40, at most 10 % off, with a delay of 10 us each way for the far link";
    let ratio = infiniband / quadrics;
    found(near(ratio, 4.90 / 2.40, TOLERANCE), rule, &[("near, us", quadrics), ("far / near", ratio)])
}

fn peaks(values: &Values) -> Judgement {
    let [quadrics, infiniband] = on_both(values, "bandwidth", LARGE)?;
    let rule = "near over far, 900 / 768, at most 10 % off, at 1 MiB";
    let ratio = quadrics / infiniband;
    found(near(ratio, 900.0 / 768.0, TOLERANCE), rule, &[("near, MB/s", quadrics), ("near / far", ratio)])
}

fn half_of_peak(values: &Values) -> Judgement {
    let (small, large) = (on_both(values, "bandwidth", KIB)?, on_both(values, "bandwidth", 2 * KIB)?);
    let peak = on_both(values, "bandwidth", LARGE)?;
    let part = |of: [f64; 2], link: usize| of[link] / peak[link];
    let holds = (0..2).all(|link| part(small, link) < 0.5 && part(large, link) >= 0.5);
    let rule = "windows of 64: less than half of the bandwidth at 1 MiB with 1 KiB, half of it or more with 2 KiB";
    let parts = [("near, 1 KiB", part(small, 0)), ("near, 2 KiB", part(large, 0))];
    found(holds, rule, &[&parts[..], &[("far, 1 KiB", part(small, 1)), ("far, 2 KiB", part(large, 1))]].concat())
}

fn both_ways(values: &Values) -> Judgement {
    let (one, two) = (on_both(values, "bandwidth", LARGE)?, on_both(values, "bibandwidth", LARGE)?);
    let small = on_both(values, "bibandwidth", KIB)?;
    let gain = [two[0] / one[0], two[1] / one[1]];
    let holds = near(gain[0], 1.0, TOLERANCE) && near(gain[1], 900.0 / 768.0, TOLERANCE) && small[1] > small[0];
    let rule = "both ways over one way at 1 MiB, 1.00 near and 1.17 far, at most 10 % off; 1 KiB faster far than near. A bus \
                that both directions share held the paper's peaks; emulated rails have none";
    found(holds, rule, &[("near", gain[0]), ("far", gain[1]), ("far / near at 1 KiB", small[1] / small[0])])
}

fn put_latency(values: &Values) -> Judgement {
    let (put, message) = (on_both(values, "put_latency", 4)?, on_both(values, "latency", 4)?);
    let [quadrics, infiniband] = [put[0] / message[0], put[1] / message[1]];
    let holds = near(infiniband, 8.11 / 4.90, TOLERANCE) && near(quadrics, 29.85 / 2.40, TOLERANCE);
    let rule =
        "a put with post, start, complete, wait over a message of 4 bytes: 12.4 near, 1.66 far, at most 10 % off";
    found(holds, rule, &[("near", quadrics), ("far", infiniband)])
}

fn get_latency(values: &Values) -> Judgement {
    let (get, put) = (on_both(values, "get_latency", 4)?, on_both(values, "put_latency", 4)?);
    let (none, one) = (on_both(values, "get_latency", 0)?, on_both(values, "get_latency", 1)?);
    let [quadrics, infiniband] = [get[0] / put[0], get[1] / put[1]];
    let holds = near(infiniband, 16.72 / 8.11, TOLERANCE)
        && near(quadrics, 32.53 / 29.85, TOLERANCE)
        && (0..2).all(|link| none[link] <= (1.0 - TOLERANCE) * one[link]);
    let rule =
        "a get over a put of 4 bytes: 1.09 near, 2.06 far, at most 10 % off; no bytes at 0.9 of one byte or less";
    let parts = [("near, 0 B / 1 B", none[0] / one[0]), ("far, 0 B / 1 B", none[1] / one[1])];
    found(holds, rule, &[&[("near", quadrics), ("far", infiniband)][..], &parts].concat())
}

fn accumulate_latency(values: &Values) -> Judgement {
    let (sum, put) = (on_both(values, "accumulate_latency", 4)?, on_both(values, "put_latency", 4)?);
    let at = |size| on_both(values, "accumulate_latency", size);
    let jump = at(4 * KIB)?[0] / at(2 * KIB)?[0];
    let [quadrics, infiniband] = [sum[0] / put[0], sum[1] / put[1]];
    let holds = near(infiniband, 8.17 / 8.11, TOLERANCE)
        && near(quadrics, 40.61 / 29.85, TOLERANCE)
        && near(jump, 3.0, TOLERANCE);
    let rule =
        "an accumulate over a put of 4 bytes: 1.36 near, 1.01 far; near, 4 KiB over 2 KiB: 3; each at most 10 % off";
    found(holds, rule, &[("near", quadrics), ("far", infiniband), ("near, 4 KiB / 2 KiB", jump)])
}

fn put_bandwidth(values: &Values) -> Judgement {
    let (put, message) = (on_both(values, "put_bandwidth", LARGE)?, on_both(values, "bandwidth", LARGE)?);
    let [quadrics, infiniband] = [put[0] / message[0], put[1] / message[1]];
    let holds = put[0] > put[1] && near(infiniband, 1.0, TOLERANCE) && quadrics < 1.0 && near(quadrics, 1.0, TOLERANCE);
    let rule = "puts over messages at 1 MiB: far at most 10 % from 1, near below 1 by at most 10 %; near above far";
    found(holds, rule, &[("near", quadrics), ("far", infiniband), ("near / far", put[0] / put[1])])
}

fn put_both_ways(values: &Values) -> Judgement {
    let (medium, large) = (on_both(values, "put_bibandwidth", 16 * KIB)?, on_both(values, "put_bibandwidth", LARGE)?);
    let (same, kept) = (large[0] / large[1], [medium[0] / large[0], medium[1] / large[1]]);
    let holds = near(same, 1.0, TOLERANCE) && kept.into_iter().all(|kept| near(kept, 1.0, TOLERANCE));
    let rule = "near over far at 1 MiB, and 16 KiB over 1 MiB on each: at most 10 % from 1. The paper's bus made both alike; \
                emulated rails have their own rates";
    found(holds, rule, &[("near / far", same), ("near, 16 KiB / 1 MiB", kept[0]), ("far, 16 KiB / 1 MiB", kept[1])])
}

fn get_bandwidth(values: &Values) -> Judgement {
    let ratio = |size| on_both(values, "get_bandwidth", size).map(|[quadrics, infiniband]| infiniband / quadrics);
    let (small, medium, large) = (ratio(KIB)?, ratio(16 * KIB)?, ratio(64 * KIB)?);
    let holds = small > 1.0 && medium > 1.0 && large < 1.0;
    let rule = "far over near: above 1 at 1 and 16 KiB, below 1 at 64 KiB";
    found(holds, rule, &[("1 KiB", small), ("16 KiB", medium), ("64 KiB", large)])
}

/// Values of the parts of a benchmark on one link: of peers or distances from 1 on.
fn parts(values: &Values, at: At, option: &str, last: u64) -> Result<[f64; 2], String> {
    let part = |number| values.median_with(STACK, at, (option, number));
    let all = (1..=last).map(part).collect::<Result<Vec<_>, _>>()?;
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    Ok([least, all.into_iter().fold(0.0, f64::max)])
}

fn hops(values: &Values) -> Judgement {
    let [least, most] = parts(values, At { benchmark: "nhop", link: LINKS[0], size: 8 }, "peer", 3)?;
    let rule = "three peers of the near link: the farthest at most 10 % above the nearest. InfiniBand's steps at borders of \
                switch blocks are not measured: no blocks are emulated";
    found(most <= (1.0 + TOLERANCE) * least, rule, &[("least, us", least), ("most / least", most / least)])
}

fn ring(values: &Values) -> Judgement {
    let kept = |link| {
        let [least, most] = parts(values, At { benchmark: "displaced_ring", link, size: LARGE }, "distance", 2)?;
        Ok::<f64, String>(least / most)
    };
    let kept = [kept(LINKS[0])?, kept(LINKS[1])?];
    let rule = "four hosts at distances 1 and 2: the slower at 0.9 of the faster or more";
    found(kept.into_iter().all(|kept| kept >= 1.0 - TOLERANCE), rule, &[("near", kept[0]), ("far", kept[1])])
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::experiments::test_records::{Given, verdicts};

    /// Near and far.
    fn given(benchmark: &'static str, size: u64, values: [f64; 2]) -> [Given; 2] {
        [0, 1].map(|link| Given::of(STACK, benchmark, LINKS[link], size, values[link]))
    }

    pub fn as_published() -> Vec<Given> {
        let mut all = [
            given("latency", 4, [2.40, 4.90]),
            given("bandwidth", KIB, [400.0, 340.0]),
            given("bandwidth", 2 * KIB, [500.0, 400.0]),
            given("bandwidth", LARGE, [900.0, 768.0]),
            given("bibandwidth", KIB, [300.0, 400.0]),
            given("bibandwidth", LARGE, [900.0, 900.0]),
            given("put_latency", 4, [29.85, 8.11]),
            given("get_latency", 0, [20.0, 10.0]),
            given("get_latency", 1, [32.4, 16.7]),
            given("get_latency", 4, [32.53, 16.72]),
            given("accumulate_latency", 4, [40.61, 8.17]),
            given("accumulate_latency", 2 * KIB, [48.7, 20.0]),
            given("accumulate_latency", 4 * KIB, [146.0, 25.0]),
            given("put_bandwidth", LARGE, [880.0, 768.0]),
            given("put_bibandwidth", 16 * KIB, [880.0, 870.0]),
            given("put_bibandwidth", LARGE, [900.0, 900.0]),
            given("get_bandwidth", KIB, [100.0, 200.0]),
            given("get_bandwidth", 16 * KIB, [500.0, 600.0]),
            given("get_bandwidth", 64 * KIB, [800.0, 700.0]),
        ]
        .concat();
        let part = |given: Given, option, number| Given { option: Some((option, number)), ..given };
        for peer in 1..=3 {
            all.push(part(Given::of(STACK, "nhop", LINKS[0], 8, 2.4), "peer", peer));
        }
        for distance in 1..=2 {
            all.extend(given("displaced_ring", LARGE, [450.0, 400.0]).map(|given| part(given, "distance", distance)));
        }
        all
    }

    #[test]
    fn published_values_hold() {
        let all = FACTS.iter().map(|fact| (fact.id.to_string(), true)).collect::<Vec<_>>();
        assert_eq!(verdicts("pecnit-2007", &as_published()), all);
    }

    #[test]
    fn two_links_that_are_alike_make_none_of_it_but_what_needs_no_difference() {
        let mut alike = as_published();
        alike.iter_mut().filter(|given| given.option.is_none()).for_each(|given| given.value = 100.0);
        let holding = verdicts("pecnit-2007", &alike).into_iter().filter(|(_, holds)| *holds);
        assert_eq!(holding.map(|(id, _)| id).collect::<Vec<_>>(), ["D9", "D11", "D12"]);
    }

    #[test]
    fn a_peer_or_a_distance_that_stands_out_is_reported() {
        let mut uneven = as_published();
        let last = |given: &&mut Given| matches!(given.option, Some(("peer", 3) | ("distance", 2)));
        uneven
            .iter_mut()
            .filter(last)
            .for_each(|given| given.value *= if given.benchmark == "nhop" { 1.3 } else { 0.7 });
        let missed = verdicts("pecnit-2007", &uneven).into_iter().filter(|(_, holds)| !holds);
        assert_eq!(missed.map(|(id, _)| id).collect::<Vec<_>>(), ["D11", "D12"]);
    }
}
