//! Many ranks a host: some cells of the table that `fishplate simulate --many-ranks` has whole.

use fishplate_sim::many_ranks::{Case, Knows, Pattern, Row, measure};

const SEED: u64 = 1;

fn row(pattern: Pattern, (hosts, per_host): (u32, u32), rails: &[u32]) -> Row {
    let case = Case { pattern, hosts, per_host, rails: rails.to_vec(), size: 64 << 10, knows: Knows::Nothing };
    measure(&case, SEED).unwrap()
}

#[test]
fn a_seed_has_one_row() {
    let of = || row(Pattern::Alltoall, (2, 2), &[1000, 250]);
    assert_eq!(of(), of());
}

#[test]
fn ranks_share_rails_that_slow_down_fail_and_come_back() {
    for (pattern, rails) in
        [(Pattern::Pairs, [1000, 250]), (Pattern::Halo, [1000, 250]), (Pattern::Alltoall, [1000, 1000])]
    {
        let row = row(pattern, (2, 4), &rails);
        for goodput in [row.steady, row.again, row.cut, row.back] {
            assert!((0.9..1.02).contains(&goodput), "{row}");
        }
        assert!((0.85..1.02).contains(&row.half), "{row}");
        assert!(row.padding[1] < 0.05, "{row}");
        assert!(row.rank_age_s < 1.5, "{row}");
    }
}

#[test]
fn no_host_receives_faster_than_its_rails_carry() {
    let row = row(Pattern::Incast, (4, 2), &[1000, 250]);
    assert!((0.9..1.02).contains(&row.steady), "{row}");
}

#[test]
fn all_of_one_rail_is_used_by_all_ranks() {
    let row = row(Pattern::Alltoall, (2, 8), &[1250]);
    for goodput in [row.start, row.steady, row.back] {
        assert!((0.95..1.02).contains(&goodput), "{row}");
    }
}
