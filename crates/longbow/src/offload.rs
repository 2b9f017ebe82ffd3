//! How long segmentation-offload frames may be.

use fishplate_link::Rate;

/// Time that an offload frame may take on the link. It arrives as a whole when its last bit would; longer ones cost
/// less, and let the first packets in them come later than they would.
const MAX_FRAME_NS: u64 = 500_000;
/// What Linux uses by itself, and the most that a packet of IP can hold.
const LINUX_BYTES: u64 = 65_536;
/// Two packets of the usual MTU.
const MIN_FRAME_BYTES: u64 = 3_000;

/// The `gso_max_size` to give the sending interfaces of a link (`ip link set dev DEVICE gso_max_size BYTES`).
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
