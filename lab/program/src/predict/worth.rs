//! Relative performance improvement across predicted networks, as `fishplate rpi` measures it (docs/guide/rpi.md):
//! between a base, the first network, and the best one, the last, how much of the gain of the best a network has.

use super::prediction::Prediction;

/// Titles of the numbers.
pub const TITLES: [&str; 2] = ["RPI", "by run time"];

/// What each of three or more networks has, by the time in MPI and by the run time; `None` if the last one is not better
/// than the first.
pub fn of(predictions: &[Prediction]) -> Option<Vec<[String; 2]>> {
    let [base, between @ .., best] = predictions else { return None };
    let is_better = best.run_s < base.run_s || best.communication_s < base.communication_s;
    if between.is_empty() || !is_better {
        return None;
    }
    let rate = |own: &Prediction, part: fn(&Prediction) -> f64| rpi(part(base), part(own), part(best));
    let between = between.iter().map(|own| [rate(own, |one| one.communication_s), rate(own, |one| one.run_s)]);
    let end = |what: &str| [what.to_string(), what.to_string()];
    Some(std::iter::once(end("base")).chain(between).chain([end("best")]).collect())
}

/// Meaning of the numbers.
pub fn explanation(predictions: &[Prediction]) -> String {
    let name = |one: Option<&Prediction>| one.map_or(String::new(), |one| one.network.clone());
    let (base, best) = (name(predictions.first()), name(predictions.last()));
    format!("RPI: share of the gain of {best} over {base} that each network has, in MPI and in run time")
}

/// `100 (X - Y) / (X - Z)`; undefined if the best network is not better than the base.
fn rpi(base: f64, own: f64, best: f64) -> String {
    if base <= best {
        return "-".into();
    }
    format!("{:.0} %", 100.0 * (base - own) / (base - best))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_the_gain() {
        // The published numbers of mpiBLAST: 112, 94, 86 s.
        assert_eq!((rpi(112.0, 94.0, 86.0), rpi(1.0, 0.5, 1.0)), ("69 %".into(), "-".into()));
    }
}
