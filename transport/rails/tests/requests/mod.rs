//! What the tests of endpoints ask of them.

use fishplate_engine::{Context, Extent, Pattern, Payload, RecvRequest, Region, Space, VcId};
use fishplate_rails::Endpoint;

pub fn recv(endpoint: &mut Endpoint, tag: u64, buffer: &mut [u8], source: Option<VcId>) {
    endpoint.recv(RecvRequest {
        pattern: Pattern { space: Space::Tagged { tag, ignore: 0 }, source },
        buffer: extent(buffer),
        multi_min_free: None,
        notify: true,
        context: Context(tag),
    });
}

pub fn extent(bytes: &[u8]) -> Payload {
    let region = Region(bytes.as_ptr().expose_provenance() as u64);
    Payload::One(Extent { region, offset: 0, len: bytes.len() as u64 })
}
