//! Settings of a link.

use serde::{Deserialize, Serialize};

use crate::loss::{Loss, check_probability};
use crate::rate::Rate;

/// Minimum of [`Settings::usual_queue_bytes`]: four segmentation-offload frames of maximum length. With less, a sender of
/// such frames would lose some even when alone on the link.
const MIN_QUEUE_BYTES: u64 = 4 * 68_000;
/// Queueing time that [`Settings::usual_queue_bytes`] adds to the round trip: hosts send in bursts of about this length.
const BURST_NS: u64 = 2_000_000;
/// Limit of the delay and the jitter.
const MAX_DELAY_NS: u64 = 60_000_000_000;

/// Packet length in bytes that every path must forward (RFC 791, section 3.2).
const MIN_MTU: u32 = 68;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Rate of serialization, in bits per second; `None`: infinite.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Maximum of a random addition to the delay, uniformly distributed. Order is kept: a frame may wait for its predecessor.
    pub jitter_ns: u64,
    /// Capacity of the queue, in bytes on the wire, including the frame being sent; frames beyond it are dropped.
    /// `None`: [`Settings::usual_queue_bytes`].
    pub queue_bytes: Option<u64>,
    /// Model of frame loss.
    pub loss: Loss,
    /// Maximum length in bytes of a packet, counted from its network header. Longer packets are lost without an ICMP message: a
    /// path MTU black hole (RFC 2923, section 2.1). `None`: no limit.
    pub path_mtu: Option<u32>,
    /// Share of frames of which one bit is flipped on the way, 0 to 1.
    pub flip: f64,
}

impl Settings {
    /// A queue with which a single TCP flow fills the link: the bandwidth-delay product plus a burst of `BURST_NS`.
    pub fn usual_queue_bytes(rate: Rate, delay_ns: u64) -> u64 {
        let waiting_ns = delay_ns.saturating_mul(2).saturating_add(BURST_NS);
        rate.bytes_in(waiting_ns).max(MIN_QUEUE_BYTES)
    }

    /// Capacity of the queue in bytes. A link without a rate sends at once and needs none.
    pub fn queue_limit_bytes(&self) -> u64 {
        let usual = || self.rate.map(|rate| Settings::usual_queue_bytes(rate, self.delay_ns));
        self.queue_bytes.or_else(usual).unwrap_or(u64::MAX)
    }

    /// Whether frames can be lost on the link.
    pub fn can_lose(&self) -> bool {
        self.loss.is_possible() || self.path_mtu.is_some()
    }

    /// Describes the first invalid setting, if any.
    pub fn check(&self) -> Result<(), String> {
        for (name, ns) in [("delay", self.delay_ns), ("jitter", self.jitter_ns)] {
            if ns > MAX_DELAY_NS {
                return Err(format!("a {name} of {ns} ns is beyond the {MAX_DELAY_NS} ns that there may be"));
            }
        }
        if let Some(mtu) = self.path_mtu.filter(|mtu| *mtu < MIN_MTU) {
            return Err(format!("a path MTU of {mtu} bytes is below the {MIN_MTU} that IPv4 needs"));
        }
        check_probability("of a changed bit", self.flip)?;
        self.loss.check()
    }

    /// Whether the outcome depends on single packets, so that each frame must be one packet.
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
        assert_eq!(queue(10, 0), MIN_QUEUE_BYTES);
        assert_eq!(Settings::default().queue_limit_bytes(), u64::MAX);
    }

    #[test]
    fn settings_are_read_and_checked() {
        let text = r#"{"rate": 1000000000, "delay_ns": 1000, "loss": 0.01}"#;
        let settings: Settings = serde_json::from_str(text).unwrap();
        assert_eq!(settings.loss, Loss::Independent(0.01));
        assert_eq!(settings.check(), Ok(()));
        assert!(serde_json::from_str::<Settings>(r#"{"dealy_ns": 1}"#).is_err());

        let wrong = Settings { loss: Loss::Independent(1.5), ..Settings::default() };
        assert_eq!(wrong.check(), Err("the probability of loss is from 0 to 1, not 1.5".into()));
        let wrong = Settings { flip: -0.5, ..Settings::default() };
        assert_eq!(wrong.check(), Err("the probability of a changed bit is from 0 to 1, not -0.5".into()));
        let wrong = Settings { delay_ns: u64::MAX, ..Settings::default() };
        assert!(wrong.check().unwrap_err().starts_with("a delay of"));
        let wrong = Settings { path_mtu: Some(60), ..Settings::default() };
        assert_eq!(wrong.check(), Err("a path MTU of 60 bytes is below the 68 that IPv4 needs".into()));
        assert!(Settings { flip: f64::NAN, ..Settings::default() }.check().is_err());
    }
}
