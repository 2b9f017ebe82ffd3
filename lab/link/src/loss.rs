//! Models of frame loss.

use std::fmt;
use std::str::FromStr;

use rand_core::Rng;
use rand_xorshift::XorShiftRng;
use serde::{Deserialize, Serialize};

/// Model of the frame loss of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "loss is a probability from 0 to 1, or { good_to_bad, bad_to_good, loss_good, loss_bad }"
)]
pub enum Loss {
    /// Each frame is lost with this probability, from 0 to 1, independently of the others.
    Independent(f64),
    /// Loss in bursts (Gilbert-Elliott model): the link is in a good or a bad state, and may change state before each frame.
    Bursts {
        /// Probability of going from good to bad.
        good_to_bad: f64,
        /// Probability of going from bad to good; its inverse is the mean length of a bad period, in frames.
        bad_to_good: f64,
        /// Probability that a frame is lost in the good state.
        loss_good: f64,
        /// Probability that a frame is lost in the bad state.
        loss_bad: f64,
    },
}

impl Loss {
    /// No frame is lost.
    pub const NONE: Loss = Loss::Independent(0.0);

    /// Whether it is [`Loss::NONE`].
    pub fn is_none(&self) -> bool {
        *self == Loss::NONE
    }

    /// Whether the model can lose a frame at all.
    pub fn is_possible(&self) -> bool {
        match *self {
            Loss::Independent(probability) => probability > 0.0,
            Loss::Bursts { loss_good, loss_bad, .. } => loss_good > 0.0 || loss_bad > 0.0,
        }
    }

    /// Describes the first invalid parameter, if any.
    pub fn check(&self) -> Result<(), String> {
        match *self {
            Loss::Independent(probability) => check_probability("of loss", probability),
            Loss::Bursts { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                check_probability("of going from good to bad", good_to_bad)?;
                check_probability("of going from bad to good", bad_to_good)?;
                check_probability("of loss in the good state", loss_good)?;
                check_probability("of loss in the bad state", loss_bad)
            }
        }
    }
}

impl Default for Loss {
    fn default() -> Loss {
        Loss::NONE
    }
}

impl FromStr for Loss {
    type Err = String;

    fn from_str(text: &str) -> Result<Loss, String> {
        let probability = text.parse().ok().filter(|probability| (0.0..=1.0).contains(probability));
        let wrong = || format!("\"{text}\" is no loss; a loss is a probability from 0 to 1, such as 0.01");
        probability.map(Loss::Independent).ok_or_else(wrong)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Independent(probability) => probability.fmt(f),
            Loss::Bursts { .. } => f.write_str("in bursts"),
        }
    }
}

/// Refuses a number outside 0 to 1.
pub fn check_probability(what: &str, probability: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&probability) {
        return Ok(());
    }
    Err(format!("the probability {what} is from 0 to 1, not {probability}"))
}

/// The random number generator of a link, and the state of the Gilbert-Elliott model.
#[derive(Clone, Debug)]
pub struct Chance {
    random: XorShiftRng,
    bad: bool,
}

impl Chance {
    /// Begins in the good state.
    pub fn new(random: XorShiftRng) -> Chance {
        Chance { random, bad: false }
    }

    /// Whether the next frame is lost.
    pub fn loses(&mut self, loss: &Loss) -> bool {
        match *loss {
            Loss::Independent(probability) => self.happens(probability),
            Loss::Bursts { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                if self.happens(if self.bad { bad_to_good } else { good_to_bad }) {
                    self.bad = !self.bad;
                }
                self.happens(if self.bad { loss_bad } else { loss_good })
            }
        }
    }

    /// Draws an event of this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        // 53 bits: the precision of an f64.
        const STEPS: f64 = (1u64 << 53) as f64;
        probability > 0.0 && ((self.random.next_u64() >> 11) as f64) < probability * STEPS
    }

    /// A number from 0 to `most`, uniformly distributed.
    pub fn up_to(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        // The upper half of the product: its bias is at most one part in 2^64 / most.
        ((u128::from(self.random.next_u64()) * (u128::from(most) + 1)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    const FRAMES: usize = 200_000;

    fn losses(loss: Loss) -> Vec<bool> {
        let mut chance = Chance::new(XorShiftRng::seed_from_u64(7));
        (0..FRAMES).map(|_| chance.loses(&loss)).collect()
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
    }

    #[test]
    fn independent_loss_has_its_share() {
        for probability in [0.0, 0.001, 0.01, 0.5, 1.0] {
            let found = share(&losses(Loss::Independent(probability)));
            // Six standard deviations.
            let wide = 6.0 * (probability * (1.0 - probability) / FRAMES as f64).sqrt();
            assert!((found - probability).abs() <= wide, "{found} for {probability}");
        }
    }

    #[test]
    fn bursts_have_their_share_and_length() {
        let losses = losses(Loss::Bursts { good_to_bad: 0.001, bad_to_good: 0.1, loss_good: 0.0, loss_bad: 1.0 });
        let bad = 0.001 / 0.101;
        assert!((share(&losses) - bad).abs() < 0.3 * bad, "{}", share(&losses));
        let bursts = losses.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let length = share(&losses) * FRAMES as f64 / bursts as f64;
        assert!((7.0..13.0).contains(&length), "{length}");
    }
}
