//! Relative performance improvement across predicted networks, as `fishplate rpi` measures it (docs/guide/rpi.md):
//! between a base and the best one, how much of the gain of the best a network has.

use super::prediction::Prediction;

/// Titles of the numbers.
pub const TITLES: [&str; 2] = ["RPI", "by run time"];

/// Networks rated: the first one is the base, the last one the best.
pub struct Worth {
    base: String,
    best: String,
    /// By the time in MPI, by the run time.
    rated: Vec<(String, [String; 2])>,
}

impl Worth {
    /// For three or more networks; `None` if the last one is not better than the first.
    pub fn of(predictions: &[Prediction]) -> Option<Worth> {
        let [base, between @ .., best] = predictions else { return None };
        let is_better = best.run_s < base.run_s || best.communication_s < base.communication_s;
        if between.is_empty() || !is_better {
            return None;
        }
        let rate = |own: &Prediction, part: fn(&Prediction) -> f64| rpi(part(base), part(own), part(best));
        let rated = between
            .iter()
            .map(|own| (own.network.clone(), [rate(own, |one| one.communication_s), rate(own, |one| one.run_s)]));
        let end = |one: &Prediction, what: &str| (one.network.clone(), [what.to_string(), what.to_string()]);
        let rated = std::iter::once(end(base, "base")).chain(rated).chain([end(best, "best")]).collect();
        Some(Worth { base: base.network.clone(), best: best.network.clone(), rated })
    }

    pub fn of_network(&self, name: &str) -> Option<&[String; 2]> {
        self.rated.iter().find(|(network, _)| network == name).map(|(_, rated)| rated)
    }

    /// All networks, with their numbers.
    pub fn rated(&self) -> &[(String, [String; 2])] {
        &self.rated
    }
}

/// Meaning of the numbers.
pub fn explanation(worth: &Worth) -> String {
    format!(
        "RPI: share of the gain of {} over {} that each network has, in MPI and in run time",
        worth.best, worth.base
    )
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
