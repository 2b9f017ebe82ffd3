//! What a link is like.

use serde::{Deserialize, Serialize};

use crate::loss::{Loss, check_probability};
use crate::rate::Rate;

/// Smallest queue that [`Settings::usual_queue_bytes`] gives: four of the longest offload frames, or a sender of
/// such frames would lose some with nobody else on the link.
const SMALLEST_QUEUE_BYTES: u64 = 4 * 68_000;
/// Queueing time beyond the delay that a usual queue allows for: hosts deliver in bursts of about this length.
const BURST_NS: u64 = 2_000_000;
/// Longest delay, jitter or holding back: far more than a way to the moon and back.
const MAX_DELAY_NS: u64 = 60_000_000_000;

/// What every path must take (RFC 791, section 3.2), in bytes.
const LEAST_MTU: u32 = 68;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How fast bits leave, in bits a second; nothing: at once.
    pub rate: Option<Rate>,
    /// From the last bit's leaving to its arrival.
    pub delay_ns: u64,
    /// Each frame takes up to so much longer, evenly spread. Order is kept: a frame may wait for the one before.
    pub jitter_ns: u64,
    /// What may wait to be sent, in bytes on the wire, the frame being sent included; what comes beyond it is dropped.
    /// Nothing: [`Settings::usual_queue_bytes`].
    pub queue_bytes: Option<u64>,
    /// Which frames get lost on the way.
    pub loss: Loss,
    /// Bytes of the longest packet that comes through, counted from its network header; longer ones get lost, and
    /// nobody is told (RFC 2923, section 2.1). Nothing: all do.
    pub path_mtu: Option<u32>,
    /// Which frames are overtaken; nothing: none.
    pub reordering: Option<Reordering>,
    /// Share of frames of which a bit is changed on the way, 0 to 1.
    pub flip: f64,
}

/// Frames that are held back while those behind them pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    /// Share of frames, 0 to 1.
    pub probability: f64,
    /// How much later they arrive.
    pub hold_ns: u64,
}

impl Settings {
    /// A queue that lets a single TCP flow fill the link: a round trip at the full rate, and what a burst needs.
    pub fn usual_queue_bytes(rate: Rate, delay_ns: u64) -> u64 {
        let waiting_ns = delay_ns.saturating_mul(2).saturating_add(BURST_NS);
        rate.bytes_in(waiting_ns).max(SMALLEST_QUEUE_BYTES)
    }

    /// Bytes that may wait to be sent. A link without a rate sends at once, so nothing waits.
    pub fn queue_limit_bytes(&self) -> u64 {
        let usual = || self.rate.map(|rate| Settings::usual_queue_bytes(rate, self.delay_ns));
        self.queue_bytes.or_else(usual).unwrap_or(u64::MAX)
    }

    /// Whether frames can get lost on the way.
    pub fn can_lose(&self) -> bool {
        self.loss.is_possible() || self.path_mtu.is_some()
    }

    /// What is wrong with these settings, if anything.
    pub fn check(&self) -> Result<(), String> {
        let times = [("delay", self.delay_ns), ("jitter", self.jitter_ns)];
        for (name, ns) in times.into_iter().chain(self.reordering.map(|reordering| ("hold", reordering.hold_ns))) {
            if ns > MAX_DELAY_NS {
                return Err(format!("a {name} of {ns} ns is beyond the {MAX_DELAY_NS} ns that there may be"));
            }
        }
        if let Some(mtu) = self.path_mtu.filter(|mtu| *mtu < LEAST_MTU) {
            return Err(format!("a path MTU of {mtu} bytes is below the {LEAST_MTU} that IPv4 needs"));
        }
        if let Some(reordering) = self.reordering {
            check_probability("of reordering", reordering.probability)?;
        }
        check_probability("of a changed bit", self.flip)?;
        self.loss.check()
    }

    /// Whether each packet has a fate of its own.
    pub fn is_of_packets(&self) -> bool {
        self.can_lose() || self.flip > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_queue_follows_rate_and_delay() {
        let queue = |mbit, delay_ns| Settings::usual_queue_bytes(Rate::mbit(mbit), delay_ns);
        assert_eq!(queue(1000, 10_000_000), 2_750_000);
        assert_eq!(queue(10, 0), SMALLEST_QUEUE_BYTES);
        assert_eq!(Settings::default().queue_limit_bytes(), u64::MAX);
    }

    #[test]
    fn settings_are_read_and_checked() {
        let text = r#"{"rate": 1000000000, "delay_ns": 1000, "loss": {"independent": {"probability": 0.01}}}"#;
        let settings: Settings = serde_json::from_str(text).unwrap();
        assert_eq!(settings.loss, Loss::Independent { probability: 0.01 });
        assert_eq!(settings.check(), Ok(()));
        assert!(serde_json::from_str::<Settings>(r#"{"dealy_ns": 1}"#).is_err());

        let wrong = Settings { loss: Loss::Independent { probability: 1.5 }, ..Settings::default() };
        assert_eq!(wrong.check(), Err("the probability of loss is from 0 to 1, not 1.5".into()));
        let wrong = Settings { flip: -0.5, ..Settings::default() };
        assert_eq!(wrong.check(), Err("the probability of a changed bit is from 0 to 1, not -0.5".into()));
        let wrong = Settings { delay_ns: u64::MAX, ..Settings::default() };
        assert!(wrong.check().unwrap_err().starts_with("a delay of"));
        let wrong = Settings { path_mtu: Some(60), ..Settings::default() };
        assert_eq!(wrong.check(), Err("a path MTU of 60 bytes is below the 68 that IPv4 needs".into()));
        let reordering = Some(Reordering { probability: f64::NAN, hold_ns: 0 });
        assert!(Settings { reordering, ..Settings::default() }.check().is_err());
    }
}
