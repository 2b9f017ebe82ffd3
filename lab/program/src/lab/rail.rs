//! The properties that are asked of a rail: rate, delay, loss, queue.

use std::fmt;

use fishplate_longbow::link::{self, Loss, Settings};
use serde::{Deserialize, Serialize};

use super::units::{Delay, Size};
use crate::testbed::{Burst, FlowLimit, Rate};

/// One rail, equal in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rail {
    /// Bits on the wire.
    #[serde(skip_serializing_if = "Rate::is_unshaped")]
    pub rate_mbit: Rate,
    /// One way, from the last bit's leaving to its arrival.
    #[serde(skip_serializing_if = "Delay::is_zero")]
    pub delay: Delay,
    /// Each frame takes up to so much longer; order is kept.
    #[serde(skip_serializing_if = "Delay::is_zero")]
    pub jitter: Delay,
    /// Of packets: a probability, or bursts.
    #[serde(skip_serializing_if = "Loss::is_none")]
    pub loss: Loss,
    /// Of which packets a bit is changed.
    #[serde(skip_serializing_if = "Flip::is_none")]
    pub flip: Flip,
    /// Bytes of the longest packet that comes through; nothing: all do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_mtu: Option<u32>,
    /// Length of the queue; absent: two delays and 2 ms at the rate, and at least 272 kB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Size>,
    /// Burst of the kernel's shaper.
    #[serde(skip_serializing_if = "Burst::is_default")]
    pub burst: Burst,
    /// Limit of one flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_limit: Option<FlowLimit>,
}

/// Probability that a bit of a packet is changed on the way, and its checksum with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flip(pub f64);

impl Flip {
    /// Whether nothing is changed.
    pub fn is_none(&self) -> bool {
        self.0 == 0.0
    }
}

impl std::str::FromStr for Flip {
    type Err = String;

    fn from_str(text: &str) -> Result<Flip, String> {
        let probability = text.parse().ok().filter(|probability| (0.0..=1.0).contains(probability));
        probability.map(Flip).ok_or_else(|| {
            format!(
                "\"{text}\" is no rate of changed bits; that is the probability of a packet, from 0 to 1, such as 0.001"
            )
        })
    }
}

impl Rail {
    /// A rail of this rate and nothing else.
    pub fn of_rate(rate_mbit: Rate) -> Rail {
        Rail { rate_mbit, ..Rail::default() }
    }

    /// Whether the kernel's shaper can do it.
    pub fn is_rate_alone(&self) -> bool {
        *self == Rail { burst: self.burst, flow_limit: self.flow_limit, ..Rail::of_rate(self.rate_mbit) }
    }

    /// Whether it has a rate alone, and loses all packets.
    pub fn loses_all_alone(&self) -> bool {
        self.loss == Loss::Independent(1.0) && Rail { loss: Loss::NONE, ..*self }.is_rate_alone()
    }

    /// Whether nothing is asked of it.
    pub fn is_plain(&self) -> bool {
        self.is_rate_alone() && self.rate_mbit.is_unshaped()
    }

    /// As settings of the emulator.
    pub fn settings(&self) -> Settings {
        Settings {
            rate: self.rate_mbit.mbit().map(|mbit| link::Rate::mbit(mbit.into())),
            delay_ns: self.delay.ns,
            jitter_ns: self.jitter.ns,
            queue_bytes: self.queue.map(|queue| queue.bytes),
            loss: self.loss,
            path_mtu: self.path_mtu,
            flip: self.flip.0,
        }
    }
}

impl fmt::Display for Rail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            Some(self.rate_mbit.to_string()),
            (!self.delay.is_zero()).then(|| format!("delay {}", self.delay)),
            (!self.jitter.is_zero()).then(|| format!("jitter {}", self.jitter)),
            (!self.loss.is_none()).then(|| format!("loss {}", self.loss)),
            (!self.flip.is_none()).then(|| format!("flip {}", self.flip.0)),
            self.path_mtu.map(|mtu| format!("path MTU {mtu}")),
            self.queue.map(|queue| format!("queue {queue}")),
            self.flow_limit.map(|limit| limit.to_string()),
            (!self.burst.is_default()).then(|| "bursts of a packet".to_string()),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}
