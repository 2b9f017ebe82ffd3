//! The sending side: messages are cut into pieces as windows, adapters and sockets let.

use super::{Chunk, Events, MOST_PIECE, Network, Notice, PIECES, PIECES_OF_WINDOW};
use crate::models::flow::{FlowId, Message};
use crate::models::socket::Socket;

impl Network {
    /// A message of `bytes` on a flow, under the owner's name `token`. Those of one group follow each other.
    pub fn post(&mut self, events: &mut impl Events, flow: FlowId, (token, group): (u64, u32), bytes: u64) {
        let state = &mut self.flows[flow.0 as usize];
        let bytes = bytes.max(1);
        let most = MOST_PIECE.min(state.limits.bytes / PIECES_OF_WINDOW).max(state.path.mtu);
        let piece = match state.path.frame_bytes {
            Some(frame) => frame.min(state.limits.bytes).max(state.path.mtu),
            None => (bytes / PIECES).clamp(state.path.burst, most).next_multiple_of(state.path.burst),
        };
        let message = Message { token, flow, bytes, group, cut: 0, arrived: 0, piece, left: 0 };
        state.queue.push_back(self.messages.insert(message));
        state.socket.iter_mut().for_each(|socket| socket.offer(bytes));
        self.join_round(flow);
        let adapter = self.flows[flow.0 as usize].adapter;
        self.pump(events, adapter);
    }

    /// The driver of a flow hands what it has to the kernel. True: the kernel has all of it.
    pub fn flush(&mut self, events: &mut impl Events, flow: FlowId) -> bool {
        let adapter = self.flows[flow.0 as usize].adapter;
        // What is sent at once leaves room for more.
        while self.flows[flow.0 as usize].socket.as_mut().is_some_and(Socket::take) {
            self.join_round(flow);
            self.pump(events, adapter);
        }
        self.flows[flow.0 as usize].socket.as_mut().is_none_or(Socket::tried)
    }

    pub(super) fn join_round(&mut self, flow: FlowId) {
        let state = &mut self.flows[flow.0 as usize];
        if !state.in_round && !state.queue.is_empty() {
            state.in_round = true;
            self.adapters[state.adapter as usize].round.push_back(flow);
        }
    }

    /// Fetches pieces while the adapter has room, a piece of each flow in turn.
    pub(super) fn pump(&mut self, events: &mut impl Events, adapter: u32) {
        while let Some(&flow) = self.adapters[adapter as usize].round.front() {
            let state = &mut self.flows[flow.0 as usize];
            let next = state.queue.front().copied();
            let Some((name, message)) = next.and_then(|name| Some((name, self.messages.get_mut(name)?))) else {
                state.in_round = false;
                self.adapters[adapter as usize].round.pop_front();
                continue;
            };
            let first = message.cut == 0;
            let taken = state.socket.as_ref().map_or(u64::MAX, Socket::uncut);
            let bytes = message.piece.min(message.bytes - message.cut).min(taken);
            if bytes == 0 || !state.may_send(first.then_some(message.group), bytes) {
                // Comes back when the sender hears something, or its kernel has taken more.
                state.in_round = false;
                self.adapters[adapter as usize].round.pop_front();
                continue;
            }
            let sender = &mut self.adapters[adapter as usize];
            if !sender.has_room(bytes) {
                return;
            }
            sender.fetched += bytes;
            sender.round.rotate_left(1);
            let packets = state.path.packets(message.cut, bytes);
            message.cut += bytes;
            let last = message.cut == message.bytes;
            if first {
                state.unacknowledged.push_back(message.group);
            }
            state.bytes_under_way += bytes;
            state.socket.iter_mut().for_each(|socket| socket.cut(bytes));
            if last {
                state.queue.pop_front();
            }
            let chunk = self.chunks.insert(Chunk { message: name, bytes, packets, hop: 0, first, cut: events.now() });
            self.submit(events, chunk);
        }
    }

    pub(super) fn heard(&mut self, events: &mut impl Events, flow: FlowId, bytes: u64, token: Option<u64>) {
        let state = &mut self.flows[flow.0 as usize];
        state.bytes_under_way -= bytes;
        if let Some(token) = token {
            state.unacknowledged.pop_front();
            self.notices.push(Notice::Acknowledged(flow, token));
        }
        let adapter = state.adapter;
        self.join_round(flow);
        self.pump(events, adapter);
        if self.flows[flow.0 as usize].socket.as_mut().is_some_and(Socket::wakes) {
            self.notices.push(Notice::Writable(flow));
        }
    }
}
