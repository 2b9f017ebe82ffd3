//! Sentences about an evaluation, for the terminal and the page.

use crate::output::page::units::digits;
use crate::output::text;
use crate::rpi::evaluate::{Bounds, Evaluation, Rpi};
use crate::rpi::published;
use crate::statistics::CONFIDENCE;

/// `12.3 s`.
pub fn seconds(value: f64) -> String {
    format!("{} s", digits(value))
}

/// `62 % (58 to 66)`; `-` for the base and the best network.
pub fn percent(rpi: &Rpi) -> String {
    match rpi {
        Rpi::End | Rpi::Unknown(_) => "-".into(),
        Rpi::Percent { value, interval: None } => format!("{value:.0} %"),
        Rpi::Percent { value, interval: Some((low, high)) } => format!("{value:.0} % ({low:.0} to {high:.0})"),
    }
}

/// The program and its runs.
pub fn headline(evaluation: &Evaluation) -> String {
    let asked = &evaluation.asked;
    let most = evaluation.networks.iter().map(|rated| rated.runs.len()).max().unwrap_or(0);
    let least = evaluation.networks.iter().map(|rated| rated.runs.len()).min().unwrap_or(0);
    let runs = if least == most { text::plural(most as u64, "run") } else { format!("{least} to {most} runs") };
    let ranks = text::plural(asked.ranks.into(), "rank");
    format!("{}: {ranks}, {runs} on each of {} networks, in turn", asked.program(), evaluation.networks.len())
}

/// Gains of networks between base and best.
pub fn ratings(evaluation: &Evaluation) -> Vec<String> {
    let asked = &evaluation.asked;
    let mut lines = Vec::new();
    for rated in &evaluation.networks {
        let name = &rated.network.name;
        let better = format!("of the gain of {} over {}", asked.best, asked.base);
        let measures = [("communication time", &rated.by_communication), ("run time", &rated.by_run)];
        for (what, rpi) in measures {
            match rpi {
                Rpi::End => {}
                Rpi::Percent { value, interval } => {
                    let interval = interval.map_or(String::new(), |(low, high)| {
                        format!(" ({low:.0} to {high:.0} %, at {:.0} %)", 100.0 * CONFIDENCE)
                    });
                    lines.push(format!("{name} has {value:.0} %{interval} {better}, by the {what}"));
                }
                Rpi::Unknown(why) => lines.push(format!("{name}, by the {what}: no RPI: {why}")),
            }
        }
    }
    lines
}

/// The part of the run time that no network can improve.
pub fn bounds(evaluation: &Evaluation) -> Vec<String> {
    let asked = &evaluation.asked;
    let best = evaluation.find(&asked.best).and_then(|rated| rated.mean);
    let (Some(Bounds { computing, computing_and_late }), Some(best)) = (evaluation.bounds, best) else {
        return vec![format!("no run on {} is complete: the program's computation is not known", asked.best)];
    };
    let of = |bound: f64| {
        let part = 100.0 * bound / best.run.max(f64::MIN_POSITIVE);
        format!("{}, {part:.0} % of the run time on {}", seconds(bound), asked.best)
    };
    vec![
        format!(
            "with an infinitely fast network it would take {}, the time of its slowest rank outside of MPI",
            of(computing)
        ),
        format!("with the waiting for late ranks as on {}, it would take {}", asked.best, of(computing_and_late)),
    ]
}

/// Published results, if the program is known.
pub fn published(evaluation: &Evaluation) -> Option<String> {
    let published = evaluation.published?;
    Some(format!("published for a program of this name: {} ({})", published.words(), published::CONDITIONS))
}
