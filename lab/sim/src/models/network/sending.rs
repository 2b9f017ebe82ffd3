//! The sending side: messages are cut into pieces as windows, adapters and sockets permit.

use super::{Chunk, Events, Network, Notice};
use crate::models::flow::{FlowId, Message};
use crate::models::socket::Socket;

/// Longest piece, in bytes. Messages are cut finely enough for stations to work on different pieces of one at the same
/// time, and no finer: each piece costs an event a station.
const MAX_PIECE: u64 = 32 << 10;
/// Pieces that a long message is cut into, until they are as long as [`MAX_PIECE`].
const PIECES: u64 = 64;
/// Minimum number of pieces in a window.
const PIECES_OF_WINDOW: u64 = 16;

impl Network {
    /// A message of `bytes` on a flow, under the owner's name `token`. Those of one group follow each other.
    pub fn post(&mut self, events: &mut impl Events, flow: FlowId, (token, group): (u32, u32), bytes: u64) {
        let state = &mut self.flows[flow.0 as usize];
        let (terms, bytes) = (&*state.path.terms, bytes.max(1));
        let most = MAX_PIECE.min(terms.limits.bytes / PIECES_OF_WINDOW).max(terms.mtu);
        let piece = match terms.frame_bytes {
            Some(frame) => frame.min(terms.limits.bytes).max(terms.mtu),
            None => (bytes / PIECES).clamp(terms.burst, most).next_multiple_of(terms.burst),
        };
        // Pieces count their bytes with 32 bits.
        let piece = piece.min(u64::from(u32::MAX));
        let message = Message { token, flow, bytes, group, cut: 0, arrived: 0, piece, left: 0 };
        let traffic = self.traffic.begin(state);
        traffic.queue.push_back(self.messages.insert(message) as u32);
        traffic.socket.iter_mut().for_each(|socket| socket.offer(bytes));
        let adapter = state.path.out.adapter;
        self.join_round(flow);
        self.pump(events, adapter);
    }

    /// The driver of a flow passes its data to the kernel. Returns whether the kernel has accepted all of it.
    pub fn flush(&mut self, events: &mut impl Events, flow: FlowId) -> bool {
        let adapter = self.path(flow).out.adapter;
        // A piece that is sent immediately frees space for more.
        while self.socket(flow).is_some_and(Socket::take) {
            self.join_round(flow);
            self.pump(events, adapter);
        }
        self.socket(flow).is_none_or(Socket::tried)
    }

    /// Number and bytes of the buffers that the kernel would accept from the driver of a flow.
    pub fn takes(&mut self, flow: FlowId) -> (u8, u64) {
        self.socket(flow).map_or((0, 0), |socket| socket.takes())
    }

    /// The kernel accepts one buffer from the driver of a flow, if it has room.
    pub fn take(&mut self, events: &mut impl Events, flow: FlowId) {
        if self.socket(flow).is_some_and(Socket::take) {
            let adapter = self.path(flow).out.adapter;
            self.join_round(flow);
            self.pump(events, adapter);
        }
    }

    /// Whether a flow has active traffic.
    pub fn is_busy(&self, flow: FlowId) -> bool {
        self.flows[flow.0 as usize].traffic.is_some()
    }

    /// The socket of a flow with active traffic.
    fn socket(&mut self, flow: FlowId) -> Option<&mut Socket> {
        self.traffic.existing(&self.flows[flow.0 as usize])?.socket.as_mut()
    }

    pub(super) fn join_round(&mut self, flow: FlowId) {
        let state = &mut self.flows[flow.0 as usize];
        if !state.in_round && self.traffic.of(state).is_some_and(|traffic| !traffic.queue.is_empty()) {
            state.in_round = true;
            self.adapters[state.path.out.adapter as usize].round.push_back(flow);
        }
    }

    /// Fetches pieces while the adapter has room, a piece of each flow in turn.
    pub(super) fn pump(&mut self, events: &mut impl Events, adapter: u32) {
        while let Some(&flow) = self.adapters[adapter as usize].round.front() {
            let Some((name, bytes)) = self.next_piece(flow) else {
                // It takes turns again after an acknowledgement, or once its kernel has accepted more.
                self.flows[flow.0 as usize].in_round = false;
                self.adapters[adapter as usize].round.pop_front();
                continue;
            };
            let sender = &mut self.adapters[adapter as usize];
            if !sender.has_room(bytes) {
                return;
            }
            sender.fetched += bytes;
            sender.round.rotate_left(1);
            if let Some(chunk) = self.cut(events, flow, name, bytes) {
                self.submit(events, chunk);
            }
        }
    }

    /// The next message of a flow, and the length of the piece that its window and socket permit.
    fn next_piece(&mut self, flow: FlowId) -> Option<(u32, u64)> {
        let state = &self.flows[flow.0 as usize];
        let traffic = self.traffic.of(state)?;
        let name = *traffic.queue.front()?;
        let message = self.messages.get(name as usize)?;
        let taken = traffic.socket.as_ref().map_or(u64::MAX, Socket::uncut);
        let bytes = message.piece.min(message.bytes - message.cut).min(taken);
        let first = (message.cut == 0).then_some(message.group);
        let limits = &state.path.terms.limits;
        let most = (limits.messages, limits.window(state.acknowledged.into()));
        (bytes > 0 && traffic.may_send(most, first, bytes)).then_some((name, bytes))
    }

    /// Cuts a piece of a message off.
    fn cut(&mut self, events: &mut impl Events, flow: FlowId, name: u32, bytes: u64) -> Option<u32> {
        let state = &mut self.flows[flow.0 as usize];
        let message = self.messages.get_mut(name as usize)?;
        let first = message.cut == 0;
        let packets = state.path.terms.packets(message.cut, bytes) as u32;
        message.cut += bytes;
        let traffic = self.traffic.begin(state);
        if first {
            traffic.unacknowledged.push_back(message.group);
        }
        traffic.bytes_under_way += bytes;
        traffic.socket.iter_mut().for_each(|socket| socket.cut(bytes));
        if message.cut == message.bytes {
            traffic.queue.pop_front();
        }
        let bytes = bytes as u32;
        let chunk = Chunk { message: name, flow, bytes, packets, hop: 0, first, cut: events.now() };
        Some(self.chunks.insert(chunk) as u32)
    }

    pub(super) fn acknowledged(&mut self, events: &mut impl Events, flow: FlowId, bytes: u32, token: Option<u32>) {
        let state = &mut self.flows[flow.0 as usize];
        state.acknowledged = state.acknowledged.saturating_add(bytes);
        let traffic = self.traffic.begin(state);
        traffic.bytes_under_way -= u64::from(bytes);
        if let Some(token) = token {
            traffic.unacknowledged.pop_front();
            self.notices.push(Notice::Acknowledged(flow, token));
        }
        let adapter = state.path.out.adapter;
        self.join_round(flow);
        self.pump(events, adapter);
        if self.socket(flow).is_some_and(Socket::wakes) {
            self.notices.push(Notice::Writable(flow));
        }
        self.traffic.end_if_over(&mut self.flows[flow.0 as usize]);
    }
}
