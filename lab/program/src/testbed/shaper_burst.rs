//! The burst of a shaper: how many bytes it lets pass at once.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Bucket of the shaper as time at the full rate: what timers may be late by (15 to 50 us here) with room to spare.
const BUCKET_US: u64 = 200;
/// Smallest bucket in bytes: two frames.
const MIN_BUCKET: u64 = 3_028;
/// Bucket of one packet in bytes: an Ethernet frame of 1514 bytes fits, and two do not.
const PACKET_BUCKET: u64 = 2_048;

/// Data that a shaped rail lets pass at once after an idle time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Burst {
    /// 200 us at the rail's rate, so that late timers do not reduce the rate.
    #[default]
    Default,
    /// One packet, or one frame for segmentation offload, as of network interfaces.
    Packet,
}

impl Burst {
    /// Bytes of the shaper's bucket.
    pub fn bucket_bytes(self, mbit: u32) -> u64 {
        match self {
            Burst::Default => (u64::from(mbit) * BUCKET_US / 8).max(MIN_BUCKET),
            Burst::Packet => PACKET_BUCKET,
        }
    }

    /// Whether nothing was asked.
    pub fn is_default(&self) -> bool {
        *self == Burst::Default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_follows_the_rate_unless_it_is_of_a_packet() {
        let buckets = |burst: Burst| [1000, 10].map(|mbit| burst.bucket_bytes(mbit));
        assert_eq!(buckets(Burst::Default), [25_000, 3_028]);
        assert_eq!(buckets(Burst::Packet), [2_048, 2_048]);
    }
}
