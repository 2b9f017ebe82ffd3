//! Numbers in JSON: little-endian, 32 bits wide, deflated (zlib), in base64.

use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Maximum bytes of a column that are read: 248 days of steps.
const MAX_BYTES: u64 = 1 << 33;

/// Deflates bytes, and writes them in base64.
pub fn pack(bytes: &[u8]) -> String {
    // Hardly smaller at higher levels, and much slower.
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(4));
    // Writing to memory cannot fail.
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default();
    STANDARD.encode(packed)
}

/// For serde.
pub fn serialize<S: Serializer>(numbers: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    serializer.serialize_str(&pack(&bytes))
}

/// For serde.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let packed = STANDARD.decode(text).map_err(D::Error::custom)?;
    let mut bytes = Vec::new();
    ZlibDecoder::new(&packed[..]).take(MAX_BYTES).read_to_end(&mut bytes).map_err(D::Error::custom)?;
    Ok(bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap_or_default())).collect())
}
