//! Policies by name, as users write them.

use std::fmt;
use std::str::FromStr;

/// Share of the paper's rule M17 that the newest measurement gets, unless the user says otherwise.
pub const DEFAULT_ADAPTIVE_ALPHA: f64 = 0.5;
/// Messages that `window-round-robin` sends on one subchannel before it moves on, unless the user says otherwise.
pub const DEFAULT_ROUND_ROBIN_WINDOW: u32 = 8;

/// How whole messages are spread over the subchannels.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Multiplexing {
    /// Every message on one subchannel, chosen by the peer's number.
    Binding,
    /// In turn.
    RoundRobin,
    /// In turn, in proportion to weights, one a rail; empty: the rails' speeds.
    WeightedRoundRobin(Vec<u32>),
    /// In turn, by these numbers of messages.
    WindowRoundRobin(u32),
    /// Where the message would arrive first; decided when a subchannel can take it.
    #[default]
    Earliest,
}

/// How a long message is cut into stripes.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Striping {
    /// Not at all: one subchannel, chosen by the peer's number.
    Binding,
    /// Equal stripes.
    Even,
    /// In proportion to weights, one a rail; empty: the rails' speeds.
    Weighted(Vec<u32>),
    /// Weights follow the stripes' completion times (multirail-2004, equation 4, alpha being the new share).
    Adaptive {
        /// Share of the newest measurement, above 0 and at most 1.
        alpha: f64,
    },
    /// Late binding: chunks go to whichever subchannel would finish them first.
    #[default]
    Earliest,
}

/// A policy that is not spelled as any known one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("allowed: {allowed}")]
pub struct UnknownPolicy {
    /// Syntax, in one line.
    pub allowed: &'static str,
}

impl Multiplexing {
    /// The spellings that `from_str` takes.
    pub const ALLOWED: &'static str =
        "binding, round-robin, weighted-round-robin[:W0,W1,...], window-round-robin[:MESSAGES], earliest";

    /// The weights given, one a rail; none where the policy has no weights.
    pub fn weights(&self) -> &[u32] {
        if let Multiplexing::WeightedRoundRobin(weights) = self { weights } else { &[] }
    }
}

impl Striping {
    /// The spellings that `from_str` takes.
    pub const ALLOWED: &'static str = "binding, even, weighted[:W0,W1,...], adaptive[:ALPHA], earliest";

    /// The weights given, one a rail; none where the policy has no weights.
    pub fn weights(&self) -> &[u32] {
        if let Striping::Weighted(weights) = self { weights } else { &[] }
    }
}

impl FromStr for Multiplexing {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let parsed = match split(text) {
            ("binding", None) => Some(Multiplexing::Binding),
            ("round-robin", None) => Some(Multiplexing::RoundRobin),
            ("weighted-round-robin", weights) => parse_weights(weights).map(Multiplexing::WeightedRoundRobin),
            ("window-round-robin", None) => Some(Multiplexing::WindowRoundRobin(DEFAULT_ROUND_ROBIN_WINDOW)),
            ("window-round-robin", Some(window)) => {
                window.parse().ok().filter(|w| *w > 0).map(Multiplexing::WindowRoundRobin)
            }
            ("earliest", None) => Some(Multiplexing::Earliest),
            _ => None,
        };
        parsed.ok_or(UnknownPolicy { allowed: Self::ALLOWED })
    }
}

impl FromStr for Striping {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let parsed = match split(text) {
            ("binding", None) => Some(Striping::Binding),
            ("even", None) => Some(Striping::Even),
            ("weighted", weights) => parse_weights(weights).map(Striping::Weighted),
            ("adaptive", None) => Some(Striping::Adaptive { alpha: DEFAULT_ADAPTIVE_ALPHA }),
            ("adaptive", Some(alpha)) => {
                alpha.parse().ok().filter(|a: &f64| *a > 0.0 && *a <= 1.0).map(|alpha| Striping::Adaptive { alpha })
            }
            ("earliest", None) => Some(Striping::Earliest),
            _ => None,
        };
        parsed.ok_or(UnknownPolicy { allowed: Self::ALLOWED })
    }
}

impl fmt::Display for Multiplexing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Multiplexing::Binding => f.write_str("binding"),
            Multiplexing::RoundRobin => f.write_str("round-robin"),
            Multiplexing::WeightedRoundRobin(weights) => write_weights(f, "weighted-round-robin", weights),
            Multiplexing::WindowRoundRobin(window) => write!(f, "window-round-robin:{window}"),
            Multiplexing::Earliest => f.write_str("earliest"),
        }
    }
}

impl fmt::Display for Striping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Striping::Binding => f.write_str("binding"),
            Striping::Even => f.write_str("even"),
            Striping::Weighted(weights) => write_weights(f, "weighted", weights),
            Striping::Adaptive { alpha } => write!(f, "adaptive:{alpha}"),
            Striping::Earliest => f.write_str("earliest"),
        }
    }
}

fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((name, parameter)) => (name, Some(parameter)),
        None => (text, None),
    }
}

/// Weights as `4,1`: positive whole numbers. `None` for other texts.
fn parse_weights(text: Option<&str>) -> Option<Vec<u32>> {
    let Some(text) = text else { return Some(Vec::new()) };
    let weights: Option<Vec<u32>> = text.split(',').map(|w| w.parse().ok().filter(|w| *w > 0)).collect();
    weights.filter(|weights| weights.len() <= crate::limits::MAX_SUBCHANNELS)
}

fn write_weights(f: &mut fmt::Formatter<'_>, name: &str, weights: &[u32]) -> fmt::Result {
    f.write_str(name)?;
    for (position, weight) in weights.iter().enumerate() {
        write!(f, "{}{weight}", if position == 0 { ':' } else { ',' })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_round_trips() {
        for text in ["binding", "round-robin", "weighted-round-robin:4,1", "window-round-robin:16", "earliest"] {
            assert_eq!(text.parse::<Multiplexing>().unwrap().to_string(), text);
        }
        for text in ["binding", "even", "weighted", "weighted:4,1", "adaptive:0.25", "earliest"] {
            assert_eq!(text.parse::<Striping>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "Even", "even:1", "weighted:", "weighted:0,1", "weighted:1,,2", "adaptive:0", "adaptive:2"] {
            assert!(text.parse::<Striping>().is_err(), "{text}");
        }
        for text in ["", "roundrobin", "window-round-robin:0", "window-round-robin:x", "earliest:3"] {
            assert!(text.parse::<Multiplexing>().is_err(), "{text}");
        }
    }
}
