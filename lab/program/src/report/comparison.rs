//! Stacks against a reference stack, round by round.

use super::model::{Panel, Place, Points, Rounds};
use crate::statistics::Ratio;

/// Stacks of a panel compared at one place, or over all places.
pub struct Comparison {
    /// Where; `None` is all places together.
    pub place: Option<Place>,
    /// Each stack over the reference; above 1 is better. `None` where they share no round.
    pub ratios: Vec<Option<Ratio>>,
    /// The stack that beats each other one beyond noise.
    pub best: Option<usize>,
}

/// The comparisons of a panel that its summary shows: all places together, and the place that counts most (the shortest
/// latency, the greatest rate).
pub fn summarize(panel: &Panel, points: &Points, stacks: usize, reference: usize) -> Vec<Comparison> {
    let ends = (points.keys().next(), points.keys().next_back());
    let (Some(first), Some(last)) = ends else { return Vec::new() };
    let telling = if panel.lower_is_better { *first } else { *last };
    let all = (first != last).then(|| compare(panel, points, None, stacks, reference));
    all.into_iter().chain([compare(panel, points, Some(telling), stacks, reference)]).collect()
}

/// Compares at a place, or over all.
pub fn compare(panel: &Panel, points: &Points, place: Option<Place>, stacks: usize, reference: usize) -> Comparison {
    let ratio = |stack: usize, other: usize| {
        let logarithms = logarithms(points, place, stack, other);
        let towards_better = |value: &f64| if panel.lower_is_better { -value } else { *value };
        Ratio::of_logarithms(&logarithms.iter().map(towards_better).collect::<Vec<_>>())
    };
    let ratios = (0..stacks).map(|stack| ratio(stack, reference)).collect();
    let measured: Vec<usize> = (0..stacks).filter(|stack| has_values(points, place, *stack)).collect();
    let beats = |stack: usize, other: usize| ratio(stack, other).is_some_and(|ratio| ratio.is_above_one());
    let beats_all = |stack: &usize| measured.iter().all(|other| other == stack || beats(*stack, *other));
    let best = if measured.len() > 1 { measured.iter().copied().find(beats_all) } else { None };
    Comparison { place, ratios, best }
}

fn has_values(points: &Points, place: Option<Place>, stack: usize) -> bool {
    points.iter().any(|(at, stacks)| place.is_none_or(|place| place == *at) && stacks.contains_key(&stack))
}

/// One logarithm a round: the mean over all places that both stacks have. Only rounds that are complete count, so that
/// all speak of the same places.
fn logarithms(points: &Points, place: Option<Place>, stack: usize, other: usize) -> Vec<f64> {
    let chosen = points.iter().filter(|(at, _)| place.is_none_or(|place| place == **at));
    let both = chosen.filter_map(|(_, stacks)| Some((stacks.get(&stack)?, stacks.get(&other)?)));
    let pairs: Vec<(&Rounds, &Rounds)> = both.collect();
    let Some((first, _)) = pairs.first() else { return Vec::new() };
    let logarithm = |(a, b): &(&Rounds, &Rounds), round| {
        let (a, b) = (a.get(round)?.value, b.get(round)?.value);
        (a > 0.0 && b > 0.0).then(|| (a / b).ln())
    };
    let of_round = |round| {
        let logarithms: Option<Vec<f64>> = pairs.iter().map(|pair| logarithm(pair, round)).collect();
        logarithms.map(|all| all.iter().sum::<f64>() / all.len() as f64)
    };
    first.keys().filter_map(of_round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::Value;

    fn panel(lower_is_better: bool) -> Panel {
        Panel { lower_is_better, ..Panel::default() }
    }

    fn rounds(values: &[f64]) -> Rounds {
        values
            .iter()
            .enumerate()
            .map(|(round, value)| ((0, round as u32), Value { value: *value, p99: None }))
            .collect()
    }

    fn points(places: &[(f64, [&[f64]; 2])]) -> Points {
        let stacks = |values: &[&[f64]; 2]| {
            let all = values.iter().enumerate().filter(|(_, values)| !values.is_empty());
            all.map(|(stack, values)| (stack, rounds(values))).collect()
        };
        places.iter().map(|(place, values)| (Place(*place), stacks(values))).collect()
    }

    #[test]
    fn pairing_by_round_takes_out_what_both_share() {
        // Both double from round to round; one is always a tenth ahead.
        let points = points(&[(1.0, [&[100.0, 200.0, 400.0], &[110.0, 220.1, 439.8]])]);
        let compared = compare(&panel(false), &points, None, 2, 0);
        let ratio = compared.ratios[1].unwrap();
        assert!((ratio.mean - 1.1).abs() < 1e-3 && ratio.is_above_one(), "{ratio:?}");
        assert_eq!((compared.ratios[0].unwrap().mean, compared.best), (1.0, Some(1)));
        assert_eq!(compare(&panel(true), &points, None, 2, 0).best, Some(0));
        assert!(compare(&panel(true), &points, None, 2, 0).ratios[1].unwrap().mean < 1.0);
    }

    #[test]
    fn nobody_is_best_in_doubt() {
        let noisy = points(&[(1.0, [&[100.0, 100.0, 100.0], &[90.0, 150.0, 101.0]])]);
        assert_eq!(compare(&panel(false), &noisy, None, 2, 0).best, None);
        let once = points(&[(1.0, [&[100.0], &[200.0]])]);
        assert_eq!(compare(&panel(false), &once, None, 2, 0).best, None);
        let alone = points(&[(1.0, [&[100.0, 101.0], &[]])]);
        assert_eq!(compare(&panel(false), &alone, None, 2, 0).best, None);
    }

    #[test]
    fn incomplete_rounds_and_places_that_one_lacks_are_left_out() {
        let points = points(&[
            (1.0, [&[1.0, 1.0, 1.0], &[2.0, 2.0, 9.0]]),
            (2.0, [&[1.0, 1.0], &[8.0, 8.0, 8.0]]),
            (3.0, [&[], &[1.0, 1.0]]),
        ]);
        let ratio = compare(&panel(false), &points, None, 2, 0).ratios[1].unwrap();
        assert!((ratio.mean - 4.0).abs() < 1e-12 && ratio.pairs == 2, "{ratio:?}");
        let summary = summarize(&panel(true), &points, 2, 0);
        assert_eq!(summary.iter().map(|row| row.place).collect::<Vec<_>>(), [None, Some(Place(1.0))]);
    }
}
