//! With whom a rank exchanges, as the benchmark program does it (`bench/programs/neighbours.c`).

/// How ranks are neighbours of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbourhood {
    /// In a periodic grid of this number of dimensions, with two neighbours in each.
    Grid(u32),
    /// This number of messages between pairs of ranks: with rank n-1-r, n-3-r and so on, modulo n.
    Pairs(u32),
}

/// One message there and one back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour {
    /// With whom.
    pub rank: u32,
    /// Tag of sent messages.
    pub sends: u32,
    /// Tag of received messages.
    pub receives: u32,
}

impl Neighbourhood {
    pub(crate) fn of(self, rank: u32, ranks: u32) -> Vec<Neighbour> {
        match self {
            Neighbourhood::Grid(dimensions) => in_grid(rank, &extents(ranks, dimensions)),
            Neighbourhood::Pairs(count) => in_pairs(rank, ranks, count),
        }
    }

    /// Whether this number of ranks can have such neighbours.
    ///
    /// # Errors
    /// When not, with the reason.
    pub(super) fn check(self, ranks: u32) -> Result<(), String> {
        match self {
            Neighbourhood::Grid(1..=3) => Ok(()),
            Neighbourhood::Grid(other) => Err(format!("a grid has 1 to 3 dimensions, not {other}")),
            Neighbourhood::Pairs(1..=6) if ranks.is_multiple_of(2) => Ok(()),
            Neighbourhood::Pairs(1..=6) => Err(format!("pairs are of an even number of ranks, not {ranks}")),
            Neighbourhood::Pairs(other) => Err(format!("pairs have 1 to 6 messages, not {other}")),
        }
    }
}

/// As equal as they can be, the greatest first (`MPI_Dims_create`).
fn extents(ranks: u32, dimensions: u32) -> Vec<u32> {
    let mut extents = vec![1; dimensions as usize];
    let (mut left, mut factors) = (ranks, Vec::new());
    for factor in 2..=ranks {
        while left.is_multiple_of(factor) {
            factors.push(factor);
            left /= factor;
        }
    }
    for factor in factors.iter().rev() {
        if let Some(least) = extents.iter_mut().min() {
            *least *= factor;
        }
    }
    extents.sort_unstable_by(|a, b| b.cmp(a));
    extents
}

fn in_grid(rank: u32, extents: &[u32]) -> Vec<Neighbour> {
    let (mut found, mut stride) = (Vec::new(), 1);
    // The last coordinate varies first.
    for (dimension, extent) in extents.iter().enumerate().rev() {
        let place = rank / stride % extent;
        let row = rank - place * stride;
        let [below, above] = [extent - 1, 1].map(|step| row + (place + step) % extent * stride);
        let (down, up) = (2 * dimension as u32, 2 * dimension as u32 + 1);
        stride *= extent;
        if *extent > 1 {
            found.push(Neighbour { rank: below, sends: down, receives: up });
            found.push(Neighbour { rank: above, sends: up, receives: down });
        }
    }
    found
}

fn in_pairs(rank: u32, ranks: u32, count: u32) -> Vec<Neighbour> {
    let partner = |i: u32| {
        (2 * i64::from(ranks) * i64::from(count) + i64::from(ranks) - 1 - 2 * i64::from(i) - i64::from(rank))
            .rem_euclid(i64::from(ranks)) as u32
    };
    (0..count).map(|i| Neighbour { rank: partner(i), sends: i, receives: i }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_sends_its_neighbour_receives() {
        for (ranks, dimensions) in [(2, 1), (2, 3), (8, 3), (6, 2), (5, 1)] {
            let of = |rank| in_grid(rank, &extents(ranks, dimensions));
            all_match(ranks, of);
        }
        for (ranks, count) in [(2, 1), (2, 6), (8, 3), (6, 6)] {
            all_match(ranks, |rank| in_pairs(rank, ranks, count));
        }
    }

    fn all_match(ranks: u32, of: impl Fn(u32) -> Vec<Neighbour>) {
        for rank in 0..ranks {
            for neighbour in of(rank) {
                assert_ne!(neighbour.rank, rank);
                let back = of(neighbour.rank).into_iter().filter(|other| {
                    (other.rank, other.receives, other.sends) == (rank, neighbour.sends, neighbour.receives)
                });
                assert_eq!(back.count(), 1, "{ranks} ranks, {rank}: {neighbour:?}");
            }
        }
    }

    #[test]
    fn grids_are_as_the_programs_have_them() {
        assert_eq!(extents(8, 3), [2, 2, 2]);
        assert_eq!(extents(12, 2), [4, 3]);
        assert_eq!((extents(2, 3), in_grid(0, &[2, 1, 1]).len()), (vec![2, 1, 1], 2));
    }
}
