//! Limit of the length of segmentation-offload frames.

use fishplate_link::Rate;

/// Limit of the serialization time of an offload frame. A frame arrives as a whole with its last bit. Longer frames cost less
/// processor time, but delay their first packets more.
const MAX_FRAME_NS: u64 = 500_000;
/// Linux's default, and the maximum length of an IP packet.
const LINUX_BYTES: u64 = 65_536;
/// Two packets of an MTU of 1500.
const MIN_FRAME_BYTES: u64 = 3_000;

/// The `gso_max_size` for the sending interfaces of a link (`ip link set dev DEVICE gso_max_size BYTES`).
pub fn offload_limit_bytes(rate: Option<Rate>) -> u32 {
    let bytes = rate.map_or(LINUX_BYTES, |rate| rate.bytes_in(MAX_FRAME_NS));
    bytes.clamp(MIN_FRAME_BYTES, LINUX_BYTES) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_follows_the_rate() {
        let limits = [1, 100, 1000, 10_000].map(|mbit| offload_limit_bytes(Some(Rate::mbit(mbit))));
        assert_eq!(limits, [3_000, 6_250, 62_500, 65_536]);
    }
}
