//! From a record to what networks are worth.

use anyhow::Result;

use super::asked::{Asked, AskedNetwork};
use super::published::Published;
use crate::output::page::units;
use crate::profile::times::{NAMES, Times};
use crate::record::Record;
use crate::statistics::{CONFIDENCE, Interval, Quotient};

/// All that a record says.
pub struct Evaluation {
    pub asked: Asked,
    /// Networks, in the order of the question.
    pub networks: Vec<Rated>,
    /// Estimated run time on an ideal network; `None` without a run on the best network.
    pub bounds: Option<Bounds>,
    pub published: Option<Published>,
    /// Failures and other caveats.
    pub notes: Vec<String>,
}

/// A network and its gain.
pub struct Rated {
    pub network: AskedNetwork,
    /// Its runs: rounds, times.
    pub runs: Vec<(u32, Times)>,
    /// Means over the runs; `None` without runs.
    pub mean: Option<Times>,
    /// By the communication time.
    pub by_communication: Rpi,
    /// By the run time.
    pub by_run: Rpi,
}

/// Relative performance improvement.
#[derive(Clone, Debug, PartialEq)]
pub enum Rpi {
    /// It is the base or the best.
    End,
    /// In percent.
    Percent {
        value: f64,
        /// Confidence interval at [`CONFIDENCE`]; `None` for a single run.
        interval: Option<(f64, f64)>,
    },
    /// Unknown, with the reason.
    Unknown(String),
}

/// Least times, in seconds, whatever the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// All time in MPI gone: what the slowest rank computes.
    pub computing: f64,
    /// Transfer gone, and ranks wait for late ones as on the best network.
    pub computing_and_late: f64,
}

/// A time of a run.
type Part = fn(&Times) -> f64;

impl Evaluation {
    /// Of a record of `fishplate rpi`.
    ///
    /// # Errors
    /// When it is another one's.
    pub fn of(record: &Record) -> Result<Evaluation> {
        let asked = Asked::of(record)?;
        let runs = |name: &str| runs(record, name);
        let (base, best) = (runs(&asked.base), runs(&asked.best));
        let rate = |own: &[(u32, Times)], name: &str, part: Part, what: &str| {
            if name == asked.base || name == asked.best {
                return Rpi::End;
            }
            rpi(&base, own, &best, part).unwrap_or_else(|why| Rpi::Unknown(words(why, what, &asked, name)))
        };
        let rated = |network: &AskedNetwork| {
            let own = runs(&network.name);
            Rated {
                by_communication: rate(&own, &network.name, |times| times.communication, "communication time"),
                by_run: rate(&own, &network.name, |times| times.run, "run time"),
                network: network.clone(),
                mean: mean(&own),
                runs: own,
            }
        };
        let bounds = mean(&best).map(|best| Bounds {
            computing: best.computing_greatest,
            computing_and_late: best.computing_and_late_greatest,
        });
        let networks = asked.networks.iter().map(rated).collect();
        let published = Published::of(&asked.program());
        Ok(Evaluation { networks, bounds, published, notes: notes(record, &asked), asked })
    }

    /// A network by its name.
    pub fn find(&self, name: &str) -> Option<&Rated> {
        self.networks.iter().find(|rated| rated.network.name == name)
    }
}

/// The runs on a network that are complete. Of what was written twice, the last counts.
fn runs(record: &Record, network: &str) -> Vec<(u32, Times)> {
    let value = |round: u32, name: &str| {
        let wanted =
            |sample: &&crate::record::Sample| sample.link == network && sample.round == round && sample.metric == name;
        record.samples.iter().rfind(wanted).map(|sample| sample.value)
    };
    let times = |round| {
        let mut values = [0.0; NAMES.len()];
        for (place, name) in values.iter_mut().zip(NAMES) {
            *place = value(round, name)?;
        }
        Some((round, Times::of_values(values)))
    };
    (0..record.manifest.rounds).filter_map(times).collect()
}

fn mean(runs: &[(u32, Times)]) -> Option<Times> {
    let mut sums = [0.0; NAMES.len()];
    for (_, times) in runs {
        sums.iter_mut().zip(times.values()).for_each(|(sum, value)| *sum += value);
    }
    (!runs.is_empty()).then(|| Times::of_values(sums.map(|sum| sum / runs.len() as f64)))
}

/// Why there is no RPI.
enum Obstacle {
    /// There is no round in which all three networks have a run.
    Missing,
    /// The best network is not better than the base: by how much in seconds.
    NoGain(f64),
    /// The gain may be noise.
    Noise(f64),
}

/// `100 (X - Y) / (X - Z)`, over the rounds in which all three have run. Differences within a round leave out what
/// changes with time.
fn rpi(base: &[(u32, Times)], own: &[(u32, Times)], best: &[(u32, Times)], part: Part) -> Result<Rpi, Obstacle> {
    let of_round = |runs: &[(u32, Times)], round| runs.iter().find(|run| run.0 == round).map(|run| part(&run.1));
    let pair = |(round, times): &(u32, Times)| {
        let (x, z) = (of_round(base, *round)?, of_round(best, *round)?);
        Some((x - part(times), x - z))
    };
    let pairs: Vec<(f64, f64)> = own.iter().filter_map(pair).collect();
    if pairs.is_empty() {
        return Err(Obstacle::Missing);
    }
    let gain = pairs.iter().map(|pair| pair.1).sum::<f64>() / pairs.len() as f64;
    if gain <= 0.0 {
        return Err(Obstacle::NoGain(gain));
    }
    let Quotient { value, interval } = Quotient::of_pairs(&pairs).ok_or(Obstacle::NoGain(gain))?;
    let interval = match interval {
        Interval::Unbounded => return Err(Obstacle::Noise(gain)),
        Interval::Within(low, high) => Some((100.0 * low, 100.0 * high)),
        Interval::Unknown => None,
    };
    Ok(Rpi::Percent { value: 100.0 * value, interval })
}

fn words(why: Obstacle, what: &str, asked: &Asked, own: &str) -> String {
    let Asked { base, best, .. } = asked;
    match why {
        Obstacle::Missing => format!("no round has a run on each of {base}, {own} and {best}"),
        Obstacle::NoGain(gain) => {
            let more = units::digits(-gain);
            format!("the {what} on {best} is {more} s above that on {base}, which is no gain")
        }
        Obstacle::Noise(gain) => format!(
            "the {what} on {best} is {} s below that on {base} in the mean, which is not significant at {:.0} %: use more \
             --repeats",
            units::digits(gain),
            100.0 * CONFIDENCE
        ),
    }
}

fn notes(record: &Record, asked: &Asked) -> Vec<String> {
    let mut notes: Vec<String> =
        record.skipped.iter().map(|skipped| format!("{}, {}", skipped.link, skipped.reason)).collect();
    if record.cells.iter().map(|completed| completed.cell.round).max().is_none_or(|last| last == 0)
        && !record.cells.is_empty()
    {
        notes.push("a single run on each network: there are no intervals".into());
    }
    if asked.oversubscribed {
        notes.push(
            "more ranks than processors: time outside of MPI includes waiting for a processor, and time in MPI waiting \
             for ranks that wait for one"
                .into(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(communication: &[f64]) -> Vec<(u32, Times)> {
        let times = |(round, communication): (usize, &f64)| {
            (round as u32, Times { run: 10.0 + communication, communication: *communication, ..Times::default() })
        };
        communication.iter().enumerate().map(times).collect()
    }

    fn by_communication(x: &[f64], y: &[f64], z: &[f64]) -> Result<Rpi, Obstacle> {
        rpi(&runs(x), &runs(y), &runs(z), |times| times.communication)
    }

    #[test]
    fn rpi_is_the_part_of_the_gain_that_a_network_has() {
        let Ok(Rpi::Percent { value, interval }) = by_communication(&[8.0], &[4.0], &[2.0]) else { panic!() };
        assert!((value - 100.0 * 4.0 / 6.0).abs() < 1e-9 && interval.is_none());
        // The published numbers of mpiBLAST: 112, 94, 86 s.
        let Ok(Rpi::Percent { value, .. }) = by_communication(&[112.0], &[94.0], &[86.0]) else { panic!() };
        assert!((69.0..69.5).contains(&value));
        // A fixed time of computation changes nothing.
        let by_run = rpi(&runs(&[8.0]), &runs(&[4.0]), &runs(&[2.0]), |times| times.run);
        assert_eq!(by_run.ok(), by_communication(&[8.0], &[4.0], &[2.0]).ok());
    }

    #[test]
    fn intervals_come_from_the_rounds_and_drift_does_not_count() {
        let drift = |value: f64| [0.0, 1.0, 2.0, 0.5].map(|more| value + more);
        let rated = by_communication(&drift(8.0), &drift(5.0), &drift(2.0));
        let Ok(Rpi::Percent { value, interval: Some((low, high)) }) = rated else { panic!() };
        assert!((value - 50.0).abs() < 1e-9 && (low - 50.0).abs() < 1e-6 && (high - 50.0).abs() < 1e-6);
        let Ok(Rpi::Percent { value, interval: Some((low, high)) }) =
            by_communication(&[8.0, 8.2, 7.9], &[5.0, 5.3, 4.8], &[2.0, 2.1, 2.2])
        else {
            panic!()
        };
        assert!(low < value && value < high && low > 30.0 && high < 70.0, "{low} {value} {high}");
    }

    #[test]
    fn without_a_difference_there_is_nothing_to_divide_by() {
        assert!(matches!(by_communication(&[2.0], &[2.0], &[2.0]), Err(Obstacle::NoGain(_))));
        assert!(matches!(by_communication(&[2.0], &[1.0], &[3.0]), Err(Obstacle::NoGain(_))));
        assert!(matches!(by_communication(&[2.0, 2.1], &[1.0, 1.0], &[2.1, 1.9]), Err(Obstacle::Noise(_))));
        assert!(matches!(by_communication(&[2.0], &[], &[1.0]), Err(Obstacle::Missing)));
    }
}
