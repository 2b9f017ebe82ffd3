//! CRC32C (RFC 3720, section 12.1) of short inputs, by the processor's instruction for it.

/// Length, in bytes, from which carry-less multiplication is faster than the instruction: it handles 64 bytes at a time, takes
/// longer to begin, and less for each byte.
#[inline]
pub fn long() -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("vpclmulqdq") {
        return 1280;
    }
    4096
}

/// The checksum of bytes behind others with the checksum `before`. `None`: the processor has no such instruction.
#[inline]
pub fn append(before: u32, bytes: &[u8]) -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("pclmulqdq") {
        // SAFETY: the processor has these instructions.
        return Some(unsafe { x86_64::append(before, bytes) });
    }
    let _ = (before, bytes);
    None
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        _mm_clmulepi64_si128, _mm_crc32_u8, _mm_crc32_u32, _mm_crc32_u64, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    };

    /// The polynomial, its lowest bit first.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    /// Number of words from which three lanes pay: the instruction has a latency of three cycles and a throughput of one, but combining
    /// the lanes takes time too.
    const MIN_WORDS_FOR_LANES: usize = 24;
    /// Words of a lane, at most.
    const MAX_LANE_WORDS: usize = 64;
    /// By length of a lane in words: the factors of a sum that is followed by this number of words, and by twice as many.
    static FACTORS: [[i64; 2]; MAX_LANE_WORDS + 1] = factors();

    const fn factors() -> [[i64; 2]; MAX_LANE_WORDS + 1] {
        let mut factors = [[0; 2]; MAX_LANE_WORDS + 1];
        let mut words = 1;
        while words <= MAX_LANE_WORDS {
            // The product has one bit less than the word that is summed then, which shifts it by 32 more.
            factors[words] = [power(64 * words - 33), power(128 * words - 33)];
            words += 1;
        }
        factors
    }

    /// x to the power `n`, modulo the polynomial.
    const fn power(n: usize) -> i64 {
        let (mut power, mut at) = (1 << 31, 0);
        while at < n {
            power = if power & 1 == 1 { power >> 1 ^ POLYNOMIAL } else { power >> 1 };
            at += 1;
        }
        power as i64
    }

    #[target_feature(enable = "sse4.2,pclmulqdq")]
    pub fn append(before: u32, bytes: &[u8]) -> u32 {
        let (mut words, rest) = bytes.as_chunks::<8>();
        let mut sum = u64::from(!before);
        while words.len() >= MIN_WORDS_FOR_LANES {
            let len = (words.len() / 3).min(MAX_LANE_WORDS);
            let (lanes, behind) = words.split_at(3 * len);
            sum = append_lanes(sum, lanes, len);
            words = behind;
        }
        for word in words {
            sum = _mm_crc32_u64(sum, u64::from_le_bytes(*word));
        }
        let mut sum = sum as u32;
        let (halves, rest) = rest.as_chunks::<4>();
        for half in halves {
            sum = _mm_crc32_u32(sum, u32::from_le_bytes(*half));
        }
        for byte in rest {
            sum = _mm_crc32_u8(sum, *byte);
        }
        !sum
    }

    /// Appends three lanes of `len` words each.
    #[inline]
    #[target_feature(enable = "sse4.2,pclmulqdq")]
    fn append_lanes(before: u64, lanes: &[[u8; 8]], len: usize) -> u64 {
        let (first, others) = lanes.split_at(len);
        let (second, third) = others.split_at(len);
        let (mut one, mut two, mut three) = (before, 0, 0);
        for ((first, second), third) in first.iter().zip(second).zip(third) {
            one = _mm_crc32_u64(one, u64::from_le_bytes(*first));
            two = _mm_crc32_u64(two, u64::from_le_bytes(*second));
            three = _mm_crc32_u64(three, u64::from_le_bytes(*third));
        }
        let [behind_second, behind_first] = FACTORS[len];
        multiplied(one, behind_first) ^ multiplied(two, behind_second) ^ three
    }

    #[inline]
    #[target_feature(enable = "sse4.2,pclmulqdq")]
    fn multiplied(sum: u64, factor: i64) -> u64 {
        let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(sum as i64), _mm_cvtsi64_si128(factor));
        _mm_crc32_u64(0, _mm_cvtsi128_si64(product) as u64)
    }
}
