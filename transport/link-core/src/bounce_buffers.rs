//! Bounce buffers: payloads of unexpected messages, and copies of injected ones.

use fishplate_engine::BounceId;

/// Buffers up to this capacity, in bytes, are kept for the next message.
const KEEP_CAPACITY: usize = 128 << 10;
/// Most buffers kept.
const KEEP_COUNT: usize = 64;

/// The buffers, by the engine's names for them.
#[derive(Default)]
pub struct BounceBuffers {
    buffers: Vec<Vec<u8>>,
    spare: Vec<Vec<u8>>,
}

impl BounceBuffers {
    /// An empty buffer under the name `id`.
    pub fn open(&mut self, id: BounceId) -> &mut Vec<u8> {
        let at = id.0 as usize;
        if self.buffers.len() <= at {
            self.buffers.resize_with(at + 1, Vec::new);
        }
        if let Some(spare) = self.spare.pop() {
            self.buffers[at] = spare;
        }
        self.buffers[at].clear();
        &mut self.buffers[at]
    }

    /// The buffer called `id`; empty if there is none.
    #[inline]
    pub fn get(&self, id: BounceId) -> &[u8] {
        self.buffers.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// The buffer called `id`.
    #[inline]
    pub fn get_mut(&mut self, id: BounceId) -> Option<&mut Vec<u8>> {
        self.buffers.get_mut(id.0 as usize)
    }

    /// Calls `fill` with the bytes of `from` (none without a buffer) and the new buffer `into`, if there is to be one.
    pub fn with_result<R>(
        &mut self,
        from: Option<BounceId>,
        into: Option<BounceId>,
        fill: impl FnOnce(&[u8], Option<&mut Vec<u8>>) -> R,
    ) -> R {
        let mut result = into.map(|into| std::mem::take(self.open(into)));
        let outcome = fill(from.map_or(&[], |from| self.get(from)), result.as_mut());
        if let (Some(into), Some(result)) = (into, result) {
            self.buffers[into.0 as usize] = result;
        }
        outcome
    }

    /// Frees the buffer called `id`.
    pub fn release(&mut self, id: BounceId) {
        let Some(buffer) = self.buffers.get_mut(id.0 as usize) else { return };
        let buffer = std::mem::take(buffer);
        if buffer.capacity() > 0 && buffer.capacity() <= KEEP_CAPACITY && self.spare.len() < KEEP_COUNT {
            self.spare.push(buffer);
        }
    }
}
