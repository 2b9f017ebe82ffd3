//! A link in shared memory: both of its halves, the peer's direct accesses and this side's, and the socket with the bells.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fishplate_engine::wire::Header;
use fishplate_engine::{Payload, RailId, Source, SubchannelId};
use fishplate_link_core::{BounceBuffers, Common, Ending, Link, Places};
use rustix::net::{SendFlags, send};

use crate::direct::Direct;
use crate::exposed::{Exposed, Stuck};
use crate::layout::{Side, Sleep, Word};
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::setup::Shared;
use crate::sys::shared_memory::SharedMemory;

/// A link in shared memory.
pub struct SharedMemoryLink {
    /// State that links of all kinds have.
    pub common: Common,
    /// Sending half of the rings.
    pub sender: Sender,
    /// Receiving half of the rings.
    pub receiver: Receiver,
    /// Direct access to the peer's memory.
    pub direct: Direct,
    /// Memory that the peer may access directly.
    pub exposed: Exposed,
    /// The peer's end of the socket is shut: no further records will come.
    pub hung_up: bool,
    /// This side has set [`Word::Sleep`].
    is_asleep: bool,
    socket: UnixStream,
    memory: Arc<SharedMemory>,
    side: Side,
}

impl SharedMemoryLink {
    /// A link that both sides have proven.
    pub fn new(shared: Shared, subchannel: SubchannelId, rail: RailId) -> SharedMemoryLink {
        let Shared { memory, side, socket, process } = shared;
        SharedMemoryLink {
            common: Common::new(subchannel, rail),
            sender: Sender::new(memory.clone(), side),
            receiver: Receiver::new(memory.clone(), side, process),
            direct: Direct::new(memory.clone(), side, process),
            exposed: Exposed::new(memory.clone(), side, process),
            hung_up: false,
            is_asleep: false,
            socket,
            memory,
            side,
        }
    }

    /// The socket, for the poll set.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Waits until the peer writes to no ended entry of `exposed` any more.
    pub fn await_writer(&mut self) -> Result<(), Stuck> {
        self.exposed.await_writer(self.socket.as_fd())
    }

    /// Has the peer ring when there is something, as this side is about to wait for its sockets.
    pub fn sleep(&mut self) {
        let until = if self.sender.is_blocked() { Sleep::UntilRecordOrRoom } else { Sleep::UntilRecord };
        self.is_asleep = true;
        self.memory.swap(self.side.word(Word::Sleep), until as u32);
    }

    /// Ends [`SharedMemoryLink::sleep`].
    pub fn wake(&mut self) {
        if std::mem::take(&mut self.is_asleep) {
            self.memory.store(self.side.word(Word::Sleep), Sleep::Not as u32, Ordering::Relaxed);
        }
    }

    /// Rings if the peer sleeps and there is something for it. `is_last`: there is no later check before more is sent.
    #[inline]
    pub fn ring_if_asleep(&mut self, is_last: bool) {
        if self.sender.must_ring(is_last) {
            self.ring();
        }
    }

    /// Rings if the peer sleeps until there is room, which there is now.
    pub fn ring_for_room(&mut self) {
        let at = self.side.peer().word(Word::Sleep);
        let until_room = Sleep::UntilRecordOrRoom as u32;
        if self.memory.load(at, Ordering::Relaxed) == until_room
            && self.memory.swap(at, Sleep::Not as u32) == until_room
        {
            self.ring();
        }
    }

    /// Errors are ignored: a full socket wakes the peer anyway, and the poll set reports a dead one.
    fn ring(&self) {
        let _ = send(&self.socket, &[0], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }

    /// Reads the bells. (Further ones make the poll set report the socket again.)
    pub fn silence(&mut self) {
        let mut bytes = [0; 64];
        let _ = self.socket.read(&mut bytes);
    }
}

impl Link for SharedMemoryLink {
    #[inline]
    fn common(&self) -> &Common {
        &self.common
    }

    #[inline]
    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn ending(&self) -> Ending {
        Ending::of(&self.common, self.receiver.is_within_frame())
    }

    fn has_waiting(&self) -> bool {
        self.sender.is_blocked()
    }

    fn has_lent(&self, payload: &Payload) -> bool {
        self.sender.has_lent(payload)
    }

    fn detach(&mut self, ended: &Payload, places: Places<'_>) -> bool {
        self.sender.detach(ended, places)
    }

    fn discard(&mut self, _: &mut BounceBuffers) {
        self.receiver.discard();
    }

    fn recover(&self, frame: u32, len: u64, into: &mut Vec<u8>) -> bool {
        self.sender.recover(frame, len, into)
    }

    fn send_goodbye(&mut self, bye: &Header, places: Places<'_>) {
        self.sender.push(bye, &Source::User(Payload::EMPTY), false, places);
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}

impl Drop for SharedMemoryLink {
    /// Ends the peer's access to lent and registered memory, which may change.
    fn drop(&mut self) {
        self.memory.swap(self.side.word(Word::Closed), 1);
        if self.exposed.end_all()
            && let Err(stuck) = self.await_writer()
        {
            log::error!("shared memory: {stuck}; it may still do so");
        }
    }
}
