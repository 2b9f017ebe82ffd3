//! Encodes frame headers.

use super::header::{
    Access, Body, COMMON_LEN, DESCRIPTION_PART, EAGER_LEN, HOST_NAME_LEN, Header, MAX_HEADER_LEN, flag, kind,
};
use crate::envelope::Envelope;
use crate::ids::MessageSeq;

impl Header {
    /// Writes the header to the start of `out`; returns its length in bytes.
    #[inline]
    pub fn encode(&self, out: &mut [u8; MAX_HEADER_LEN]) -> usize {
        if let Body::Eager { seq, envelope, data, prompt, .. } = self.body {
            let flags = Writer { out, at: COMMON_LEN }.message(seq, envelope, data, prompt);
            self.encode_common(kind::EAGER, flags, out);
            return EAGER_LEN;
        }
        self.encode_any(out)
    }

    fn encode_any(&self, out: &mut [u8; MAX_HEADER_LEN]) -> usize {
        let mut writer = Writer { out, at: COMMON_LEN };
        let (kind, flags) = match self.body {
            Body::Eager { seq, envelope, data, prompt, .. } => {
                (kind::EAGER, writer.message(seq, envelope, data, prompt))
            }
            Body::RequestToSend { seq, envelope, data, total, early, send } => {
                let flags = writer.envelope((seq, early), envelope, data);
                writer.u64(total);
                writer.u64(send.0);
                (kind::RTS, flags)
            }
            Body::EarlyData { seq, offset, .. } => {
                writer.u64(u64::from(seq.0));
                writer.u64(offset);
                (kind::EARLY_DATA, 0)
            }
            Body::ClearToSend { send, receive, len } => {
                writer.u64(send.0);
                writer.u64(receive.0);
                writer.u64(len);
                (kind::CTS, 0)
            }
            Body::Stripe { receive, offset, .. } => {
                writer.u64(receive.0);
                writer.u64(offset);
                (kind::STRIPE, 0)
            }
            Body::Write { write, key, address, data, number, .. } => {
                let words = [write.0, key, address, data.unwrap_or(0), number];
                words.into_iter().for_each(|word| writer.u64(word));
                (kind::WRITE, if data.is_some() { flag::DATA } else { 0 })
            }
            Body::Read { number, receive, key, address, len } => {
                [receive.0, key, address, len, number].into_iter().for_each(|word| writer.u64(word));
                (kind::READ, 0)
            }
            Body::Atomic { number, operation, key, address, what } => {
                [operation.0, key, address, number, what.word()].into_iter().for_each(|word| writer.u64(word));
                (kind::ATOMIC, 0)
            }
            Body::Applied { operation } => {
                writer.u64(operation.0);
                (kind::APPLIED, 0)
            }
            Body::Refused { what, why } => {
                let (name, flags) = match what {
                    Access::Write(write) => (write.0, 0),
                    Access::Read(receive) => (receive.0, flag::OF_READ),
                };
                [name, why as u64].into_iter().for_each(|word| writer.u64(word));
                (kind::REFUSED, flags)
            }
            Body::Relinquish { total } => {
                writer.u64(total);
                (kind::RELINQUISH, 0)
            }
            Body::Ping => (kind::PING, 0),
            Body::Padding { .. } => (kind::PADDING, 0),
            Body::Ack => (kind::ACK, 0),
            Body::Bye => (kind::BYE, 0),
            Body::Leave => (kind::LEAVE, 0),
            Body::Evict => (kind::EVICT, 0),
            Body::Resume { number } => {
                writer.u64(u64::from(number));
                (kind::RESUME, 0)
            }
            Body::Datagrams { port, secret, received } => {
                writer.u64(secret);
                writer.u64(u64::from(port));
                (kind::DATAGRAMS, if received { flag::RECEIVED } else { 0 })
            }
            Body::SharedMemory { listener, secret } => {
                [listener, secret as u64, (secret >> 64) as u64].into_iter().for_each(|word| writer.u64(word));
                (kind::SHARED_MEMORY, 0)
            }
            Body::Description { total, offset, part } => {
                writer.u64(u64::from(total) | u64::from(offset) << 16);
                writer.out[writer.at..writer.at + DESCRIPTION_PART].copy_from_slice(&part);
                writer.at += DESCRIPTION_PART;
                (kind::DESCRIPTION, 0)
            }
            Body::Name { rank, host } => {
                // One more than the rank; 0 is none.
                writer.u64(rank.map_or(0, |rank| u64::from(rank) + 1));
                writer.out[writer.at..writer.at + HOST_NAME_LEN].copy_from_slice(&host);
                writer.at += HOST_NAME_LEN;
                (kind::NAME, 0)
            }
        };
        let end = writer.at;
        self.encode_common(kind, flags, out);
        end
    }

    /// Writes the fields that all headers share.
    #[inline]
    fn encode_common(&self, kind: u8, flags: u8, out: &mut [u8; MAX_HEADER_LEN]) {
        let flags = flags | self.repetition << 4;
        let first = u32::from(kind) | (u32::from(flags) << 8) | (u32::from(self.ack_delay_us) << 16);
        let words = [first, self.body.payload_len(), self.ack, self.credit, self.sent_at_us];
        for (at, word) in words.into_iter().enumerate() {
            out[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
        }
    }
}

struct Writer<'a> {
    out: &'a mut [u8; MAX_HEADER_LEN],
    at: usize,
}

impl Writer<'_> {
    #[inline]
    fn u64(&mut self, value: u64) {
        self.out[self.at..self.at + 8].copy_from_slice(&value.to_le_bytes());
        self.at += 8;
    }

    /// Writes the fields of a whole message; returns its flags.
    #[inline]
    fn message(&mut self, seq: MessageSeq, envelope: Envelope, data: Option<u64>, prompt: bool) -> u8 {
        let flags = self.envelope((seq, 0), envelope, data);
        if prompt { flags | flag::PROMPT } else { flags }
    }

    /// Writes sequence number, length of early data, tag and immediate data; returns their flags.
    #[inline]
    fn envelope(&mut self, (seq, early): (MessageSeq, u32), envelope: Envelope, data: Option<u64>) -> u8 {
        let (tag, tagged) = match envelope {
            Envelope::Message => (0, 0),
            Envelope::Tagged(tag) => (tag, flag::TAGGED),
        };
        self.u64(u64::from(seq.0) | u64::from(early) << 32);
        self.u64(tag);
        self.u64(data.unwrap_or(0));
        tagged | if data.is_some() { flag::DATA } else { 0 }
    }
}
