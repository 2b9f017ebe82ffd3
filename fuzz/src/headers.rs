//! Headers of frames that a bad peer makes up.

use fishplate_engine::wire::{Body, Header, MAX_HEADER_LEN};
use fishplate_engine::{Envelope, MessageSeq};

/// That of an eager message with a payload of `len` bytes.
pub fn eager(seq: u32, len: u32) -> Vec<u8> {
    let (seq, envelope) = (MessageSeq(seq), Envelope::Tagged(7));
    let body = Body::Eager { seq, envelope, data: None, len, prompt: false };
    let mut header = [0; MAX_HEADER_LEN];
    let header_len = Header::without_acknowledgement(body).encode(&mut header);
    header[..header_len].to_vec()
}
