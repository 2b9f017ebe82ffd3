//! Decodes frame headers, from untrusted bytes.

use super::header::{Access, Body, COMMON_LEN, EAGER_LEN, Header, ReceiveRef, Refusal, SendRef, flag, kind};
use crate::atomic::Atomic;
use crate::envelope::Envelope;
use crate::ids::MessageSeq;

/// Why bytes are no header of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// There is no such kind of frame.
    #[error("unknown frame kind {0}")]
    Kind(u8),
    /// A flag that this kind does not have.
    #[error("unknown flags {0:#04x}")]
    Flags(u8),
    /// A payload behind a kind that has none.
    #[error("{0} bytes behind a frame that carries none")]
    Payload(u32),
    /// A refusal with an unknown reason.
    #[error("unknown reason {0} for a refusal")]
    Refusal(u64),
    /// An unknown atomic operation.
    #[error("unknown atomic operation {0:#x}")]
    Atomic(u64),
}

/// Flags that headers of whole messages may have.
const EAGER_FLAGS: u8 = flag::TAGGED | flag::DATA | flag::PROMPT;

/// Length in bytes of the header that starts with byte `first`.
#[inline]
pub fn header_len(first: u8) -> Result<usize, Malformed> {
    match first {
        kind::EAGER | kind::CTS | kind::SHARED_MEMORY => Ok(EAGER_LEN),
        kind::WRITE | kind::READ | kind::RTS | kind::DESCRIPTION | kind::NAME | kind::ATOMIC => Ok(COMMON_LEN + 40),
        kind::STRIPE | kind::EARLY_DATA | kind::REFUSED | kind::DATAGRAMS => Ok(COMMON_LEN + 16),
        kind::RELINQUISH | kind::RESUME | kind::APPLIED => Ok(COMMON_LEN + 8),
        kind::ACK | kind::BYE | kind::PING | kind::PADDING | kind::LEAVE | kind::EVICT => Ok(COMMON_LEN),
        other => Err(Malformed::Kind(other)),
    }
}

/// Reads the header at the start of `bytes`, and its length. `None`: more bytes are needed.
#[inline]
pub fn decode(bytes: &[u8]) -> Result<Option<(Header, usize)>, Malformed> {
    match bytes.first_chunk() {
        Some(header) if header[0] == kind::EAGER && header[1] & 0x0f & !EAGER_FLAGS == 0 => {
            Ok(Some((decode_eager(header), EAGER_LEN)))
        }
        _ => decode_any(bytes),
    }
}

/// Fast path for the most frequent kind. The caller has checked the flags.
#[inline]
fn decode_eager(bytes: &[u8; EAGER_LEN]) -> Header {
    let reader = Reader { bytes };
    let (first, len) = (reader.u32(0), reader.u32(4));
    let envelope = reader.envelope();
    let (seq, data, prompt) = (reader.seq(), reader.data(COMMON_LEN + 16), reader.flag(flag::PROMPT));
    Header {
        ack: reader.u32(8),
        ack_delay_us: (first >> 16) as u16,
        sent_at_us: reader.u32(16),
        credit: reader.u32(12),
        repetition: bytes[1] >> 4,
        body: Body::Eager { seq, envelope, data, len, prompt },
    }
}

fn decode_any(bytes: &[u8]) -> Result<Option<(Header, usize)>, Malformed> {
    let Some(&first) = bytes.first() else { return Ok(None) };
    let len = header_len(first)?;
    let Some(bytes) = bytes.get(..len) else { return Ok(None) };
    let reader = Reader { bytes };
    let payload = reader.u32(4);
    let body = reader.body(first, payload)?;
    let (flags, repetition) = (bytes[1] & 0x0f, bytes[1] >> 4);
    let allowed = match first {
        kind::EAGER => EAGER_FLAGS,
        kind::RTS => flag::TAGGED | flag::DATA,
        kind::WRITE => flag::DATA,
        kind::REFUSED => flag::OF_READ,
        kind::DATAGRAMS => flag::RECEIVED,
        _ => 0,
    };
    if flags & !allowed != 0 {
        return Err(Malformed::Flags(flags));
    }
    if body.payload_len() != payload {
        return Err(Malformed::Payload(payload));
    }
    let ack_delay_us = (reader.u32(0) >> 16) as u16;
    let (ack, credit, sent_at_us) = (reader.u32(8), reader.u32(12), reader.u32(16));
    Ok(Some((Header { ack, ack_delay_us, sent_at_us, credit, repetition, body }, len)))
}

/// Reads from a header known to be whole.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    #[inline]
    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    #[inline]
    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }

    #[inline]
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut out = [0; N];
        out.copy_from_slice(&self.bytes[at..at + N]);
        out
    }

    fn body(&self, kind: u8, payload: u32) -> Result<Body, Malformed> {
        Ok(match kind {
            kind::EAGER => Body::Eager {
                seq: self.seq(),
                envelope: self.envelope(),
                data: self.data(COMMON_LEN + 16),
                len: payload,
                prompt: self.flag(flag::PROMPT),
            },
            kind::RTS => Body::RequestToSend {
                seq: self.seq(),
                envelope: self.envelope(),
                data: self.data(COMMON_LEN + 16),
                total: self.u64(COMMON_LEN + 24),
                early: self.u32(COMMON_LEN + 4),
                send: SendRef(self.u64(COMMON_LEN + 32)),
            },
            kind::CTS => Body::ClearToSend {
                send: SendRef(self.u64(COMMON_LEN)),
                receive: ReceiveRef(self.u64(COMMON_LEN + 8)),
                len: self.u64(COMMON_LEN + 16),
            },
            kind::STRIPE => Body::Stripe {
                receive: ReceiveRef(self.u64(COMMON_LEN)),
                offset: self.u64(COMMON_LEN + 8),
                len: payload,
            },
            kind::EARLY_DATA => Body::EarlyData { seq: self.seq(), offset: self.u64(COMMON_LEN + 8), len: payload },
            kind::WRITE => self.write(payload),
            kind::READ => self.read(),
            kind::ATOMIC => self.atomic()?,
            kind::APPLIED => Body::Applied { operation: ReceiveRef(self.u64(COMMON_LEN)) },
            kind::REFUSED => self.refused()?,
            kind::RELINQUISH => Body::Relinquish { total: self.u64(COMMON_LEN) },
            kind::PING => Body::Ping,
            kind::PADDING => Body::Padding { len: payload },
            kind::BYE => Body::Bye,
            kind::LEAVE => Body::Leave,
            kind::EVICT => Body::Evict,
            kind::RESUME | kind::DATAGRAMS | kind::SHARED_MEMORY | kind::DESCRIPTION | kind::NAME => {
                self.driver_body(kind)
            }
            _ => Body::Ack,
        })
    }

    /// Bodies that drivers exchange.
    fn driver_body(&self, kind: u8) -> Body {
        match kind {
            kind::RESUME => Body::Resume { number: self.u32(COMMON_LEN) },
            kind::DATAGRAMS => Body::Datagrams {
                secret: self.u64(COMMON_LEN),
                port: self.u64(COMMON_LEN + 8) as u16,
                received: self.flag(flag::RECEIVED),
            },
            kind::SHARED_MEMORY => Body::SharedMemory {
                listener: self.u64(COMMON_LEN),
                secret: u128::from(self.u64(COMMON_LEN + 8)) | u128::from(self.u64(COMMON_LEN + 16)) << 64,
            },
            kind::DESCRIPTION => Body::Description {
                total: self.u64(COMMON_LEN) as u16,
                offset: (self.u64(COMMON_LEN) >> 16) as u16,
                part: self.bytes[COMMON_LEN + 8..].first_chunk().copied().unwrap_or_default(),
            },
            _ => Body::Name {
                rank: self.u64(COMMON_LEN).checked_sub(1).and_then(|rank| u32::try_from(rank).ok()),
                host: self.bytes[COMMON_LEN + 8..].first_chunk().copied().unwrap_or_default(),
            },
        }
    }

    #[inline]
    fn write(&self, payload: u32) -> Body {
        Body::Write {
            write: SendRef(self.u64(COMMON_LEN)),
            key: self.u64(COMMON_LEN + 8),
            address: self.u64(COMMON_LEN + 16),
            data: self.data(COMMON_LEN + 24),
            number: self.u64(COMMON_LEN + 32),
            len: payload,
        }
    }

    #[inline]
    fn read(&self) -> Body {
        Body::Read {
            number: self.u64(COMMON_LEN + 32),
            receive: ReceiveRef(self.u64(COMMON_LEN)),
            key: self.u64(COMMON_LEN + 8),
            address: self.u64(COMMON_LEN + 16),
            len: self.u64(COMMON_LEN + 24),
        }
    }

    fn atomic(&self) -> Result<Body, Malformed> {
        let word = self.u64(COMMON_LEN + 32);
        Ok(Body::Atomic {
            number: self.u64(COMMON_LEN + 24),
            operation: ReceiveRef(self.u64(COMMON_LEN)),
            key: self.u64(COMMON_LEN + 8),
            address: self.u64(COMMON_LEN + 16),
            what: Atomic::of_word(word).ok_or(Malformed::Atomic(word))?,
        })
    }

    fn refused(&self) -> Result<Body, Malformed> {
        let name = self.u64(COMMON_LEN);
        let what = match self.flag(flag::OF_READ) {
            true => Access::Read(ReceiveRef(name)),
            false => Access::Write(SendRef(name)),
        };
        let why = Refusal::of(self.u64(COMMON_LEN + 8)).ok_or(Malformed::Refusal(self.u64(COMMON_LEN + 8)))?;
        Ok(Body::Refused { what, why })
    }

    #[inline]
    fn flag(&self, flag: u8) -> bool {
        self.bytes[1] & flag != 0
    }

    #[inline]
    fn seq(&self) -> MessageSeq {
        MessageSeq(self.u32(COMMON_LEN))
    }

    #[inline]
    fn envelope(&self) -> Envelope {
        if self.flag(flag::TAGGED) { Envelope::Tagged(self.u64(COMMON_LEN + 8)) } else { Envelope::Message }
    }

    #[inline]
    fn data(&self, at: usize) -> Option<u64> {
        self.flag(flag::DATA).then(|| self.u64(at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DESCRIPTION_PART, HOST_NAME_LEN, MAX_HEADER_LEN, REPETITIONS};
    use super::*;
    use crate::atomic::{AtomicOperation, Datatype};
    use proptest::prelude::*;

    fn envelopes() -> impl Strategy<Value = Envelope> {
        prop_oneof![Just(Envelope::Message), any::<u64>().prop_map(Envelope::Tagged)]
    }

    fn accesses() -> impl Strategy<Value = Access> {
        let read = |receive| Access::Read(ReceiveRef(receive));
        prop_oneof![any::<u64>().prop_map(|write| Access::Write(SendRef(write))), any::<u64>().prop_map(read)]
    }

    fn atomics() -> impl Strategy<Value = Atomic> {
        let operations = prop::sample::select(AtomicOperation::ALL.to_vec());
        let parts = (operations, prop::sample::select(Datatype::ALL.to_vec()), any::<bool>(), any::<u32>());
        parts.prop_filter_map("not on this type", |(operation, datatype, fetches, count)| {
            Atomic::new(operation, datatype, fetches, count % Atomic::most(datatype) + 1)
        })
    }

    fn message_bodies() -> impl Strategy<Value = Body> {
        let seq = any::<u32>().prop_map(MessageSeq);
        prop_oneof![
            (seq.clone(), envelopes(), any::<Option<u64>>(), any::<u32>(), any::<bool>())
                .prop_map(|(seq, envelope, data, len, prompt)| Body::Eager { seq, envelope, data, len, prompt }),
            (seq.clone(), envelopes(), any::<Option<u64>>(), any::<(u64, u32, u64)>()).prop_map(
                |(seq, envelope, data, (total, early, send))| Body::RequestToSend {
                    seq,
                    envelope,
                    data,
                    total,
                    early,
                    send: SendRef(send)
                }
            ),
            (seq, any::<(u64, u32)>()).prop_map(|(seq, (offset, len))| Body::EarlyData { seq, offset, len }),
            any::<u64>().prop_map(|total| Body::Relinquish { total }),
            any::<(u64, u64, u64)>().prop_map(|(send, receive, len)| Body::ClearToSend {
                send: SendRef(send),
                receive: ReceiveRef(receive),
                len
            }),
            any::<(u64, u64, u32)>().prop_map(|(receive, offset, len)| Body::Stripe {
                receive: ReceiveRef(receive),
                offset,
                len
            }),
        ]
    }

    fn access_bodies() -> impl Strategy<Value = Body> {
        prop_oneof![
            any::<(u64, u64, u64, Option<u64>, u64, u32)>().prop_map(|(write, key, address, data, number, len)| {
                Body::Write { number, write: SendRef(write), key, address, data, len }
            }),
            any::<(u64, u64, u64, u64, u64)>().prop_map(|(number, receive, key, address, len)| Body::Read {
                number,
                receive: ReceiveRef(receive),
                key,
                address,
                len
            }),
            (any::<(u64, u64, u64, u64)>(), atomics()).prop_map(|((number, operation, key, address), what)| {
                Body::Atomic { number, operation: ReceiveRef(operation), key, address, what }
            }),
            any::<u64>().prop_map(|operation| Body::Applied { operation: ReceiveRef(operation) }),
            (accesses(), prop::sample::select((1..=4).filter_map(Refusal::of).collect::<Vec<_>>()))
                .prop_map(|(what, why)| Body::Refused { what, why }),
        ]
    }

    /// Bodies of subchannels and of drivers.
    fn link_bodies() -> impl Strategy<Value = Body> {
        prop_oneof![
            5 => prop::sample::select(vec![Body::Ack, Body::Ping, Body::Bye, Body::Leave, Body::Evict]),
            1 => any::<u32>().prop_map(|number| Body::Resume { number }),
            1 => any::<(u16, u64, bool)>()
                .prop_map(|(port, secret, received)| Body::Datagrams { port, secret, received }),
            1 => any::<(u64, u128)>().prop_map(|(listener, secret)| Body::SharedMemory { listener, secret }),
            1 => any::<(u16, u16, [u8; DESCRIPTION_PART])>()
                .prop_map(|(total, offset, part)| Body::Description { total, offset, part }),
            1 => any::<(Option<u32>, [u8; HOST_NAME_LEN])>().prop_map(|(rank, host)| Body::Name { rank, host }),
        ]
    }

    /// All kinds are equally likely.
    fn bodies() -> impl Strategy<Value = Body> {
        prop_oneof![6 => message_bodies(), 5 => access_bodies(), 10 => link_bodies()]
    }

    proptest! {
        #[test]
        fn every_header_round_trips(
            (ack, ack_delay_us, sent_at_us, credit) in any::<(u32, u16, u32, u32)>(),
            repetition in 0..REPETITIONS,
            body in bodies(),
        ) {
            let header = Header { ack, ack_delay_us, sent_at_us, credit, repetition, body };
            let mut bytes = [0xaa; MAX_HEADER_LEN];
            let len = header.encode(&mut bytes);
            prop_assert_eq!(decode(&bytes), Ok(Some((header, len))));
            for short in 0..len {
                prop_assert_eq!(decode(&bytes[..short]), Ok(None));
            }
        }

        #[test]
        fn no_bytes_panic_and_what_decodes_encodes_to_an_equal_header(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(Some((header, len))) = decode(&bytes) {
                let mut again = [0; MAX_HEADER_LEN];
                prop_assert_eq!(header.encode(&mut again), len);
                prop_assert_eq!(decode(&again[..len]), Ok(Some((header, len))));
            }
        }

        #[test]
        fn likely_first_bytes_do_not_panic(kind in 0u8..22, bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let bytes: Vec<u8> = std::iter::once(kind).chain(bytes).collect();
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn reserved_bits_are_refused() {
        let mut bytes = [0; MAX_HEADER_LEN];
        Header::without_acknowledgement(Body::Ack).encode(&mut bytes);
        bytes[1] = 1;
        assert_eq!(decode(&bytes), Err(Malformed::Flags(1)));
        bytes[1] = 0;
        bytes[4] = 1;
        assert_eq!(decode(&bytes), Err(Malformed::Payload(1)));
        assert_eq!(decode(&[23]), Err(Malformed::Kind(23)));
        let (what, why) = (Access::Write(SendRef(1)), Refusal::Rights);
        Header::without_acknowledgement(Body::Refused { what, why }).encode(&mut bytes);
        bytes[COMMON_LEN + 8] = 5;
        assert_eq!(decode(&bytes), Err(Malformed::Refusal(5)));
    }
}
