//! The wire format: what travels over a subchannel once its connection is proven. See `docs/internals/wire.md`.

mod decode;
mod encode;
mod header;

pub use decode::{Malformed, decode, header_len};
pub use header::{
    Access, Body, COMMON_LEN, DESCRIPTION_PART, HOST_NAME_LEN, Header, MAX_HEADER_LEN, REPETITIONS, ReceiveRef,
    Refusal, SendRef, Urgency, VERSION,
};
