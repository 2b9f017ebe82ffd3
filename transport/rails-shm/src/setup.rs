//! Set-up of shared memory between two endpoints of one host.
//!
//! One offers it over their proven connection: the name of a socket at which it listens, and a secret. The other creates the
//! memory, with a random number in it, and passes both through that socket; the first one answers with the number that it
//! finds. The socket's name is in the abstract namespace, which belongs to a network namespace: who is in another one is
//! on another host, as far as the network goes. Memory is taken only from, and given only to, processes of the same user.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fishplate_engine::{Instant, VcId};
use fishplate_link_core::random;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::layout::{LEN, NONCE_AT, NONCE_LEN, Side, Word};
use crate::sys::peer_process::{PeerProcess, peer_process};
use crate::sys::process_memory::Process;
use crate::sys::shared_memory::SharedMemory;

/// Bytes of the secret that comes with the memory.
const SECRET_LEN: usize = 16;
/// Timeout of the other side, in nanoseconds: it has to call its MPI.
pub const MAX_SETUP_NS: u64 = 60_000_000_000;

/// Memory that both sides have proven to map.
pub struct Shared {
    pub(crate) memory: Arc<SharedMemory>,
    pub(crate) side: Side,
    pub(crate) socket: UnixStream,
    /// The peer's process, if its memory can be read.
    pub(crate) process: Option<Process>,
}

impl Shared {
    /// Whether this side can read the peer's memory: long payloads are not copied into shared memory then.
    pub fn reads_peer(&self) -> bool {
        self.process.is_some()
    }
}

/// A socket at which peers deliver memory.
pub struct Listener {
    socket: UnixListener,
    /// Its random name, by which peers find it.
    pub name: u64,
}

impl Listener {
    /// Opens a socket with a random name.
    pub fn open() -> io::Result<Listener> {
        let name = u64::from_le_bytes(random()?);
        let socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(path(name))?)?;
        socket.set_nonblocking(true)?;
        Ok(Listener { socket, name })
    }

    /// The socket, for the poll set.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Accepts a connection; `None` if it is from another user's process. [`io::ErrorKind::WouldBlock`]: there is none.
    pub fn accept(&self, now: Instant) -> io::Result<Option<Arriving>> {
        let (socket, _) = self.socket.accept()?;
        socket.set_nonblocking(true)?;
        let peer = peer_process(socket.as_fd())?;
        Ok(is_same_user(&peer).then_some(Arriving { socket, peer, since: now }))
    }
}

/// A connection over which memory is to come.
pub struct Arriving {
    socket: UnixStream,
    peer: PeerProcess,
    /// When it was accepted.
    pub since: Instant,
}

impl Arriving {
    /// The socket, for the poll set.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Receives the secret and the memory. [`io::ErrorKind::WouldBlock`]: not yet.
    pub fn receive(&self) -> io::Result<(u128, OwnedFd)> {
        let mut secret = [0; SECRET_LEN];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let came = recvmsg(&self.socket, &mut [IoSliceMut::new(&mut secret)], &mut control, flags)?;
        let files = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let file = files.flatten().last();
        let file = file.filter(|_| came.bytes == SECRET_LEN).ok_or(io::ErrorKind::InvalidData)?;
        Ok((u128::from_le_bytes(secret), file))
    }

    /// Maps the memory, and answers with its nonce.
    pub fn open(mut self, file: &OwnedFd) -> io::Result<Shared> {
        let memory = Arc::new(SharedMemory::open(file.as_fd(), LEN)?);
        let mut nonce = [0; NONCE_LEN];
        memory.read(NONCE_AT, &mut nonce);
        let process = introduce(&memory, Side::Opener, self.peer.pid);
        self.socket.write_all(&nonce)?;
        Ok(Shared { memory, side: Side::Opener, socket: self.socket, process })
    }
}

/// Memory that was created and offered to a peer.
pub struct Offered {
    /// Channel of the peer.
    pub vc: VcId,
    /// When it was offered.
    pub since: Instant,
    socket: UnixStream,
    peer: PeerProcess,
    memory: Arc<SharedMemory>,
    nonce: [u8; NONCE_LEN],
}

impl Offered {
    /// Creates memory, and passes it through the socket called `name`, with the `secret` that is expected there.
    pub fn pass(vc: VcId, name: u64, secret: u128, now: Instant) -> io::Result<Offered> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None)?;
        socket.connect(&SockAddr::unix(format!("\0{}", path(name)))?)?;
        let socket = UnixStream::from(OwnedFd::from(socket));
        let peer = same_user(&socket)?;
        let (memory, file) = SharedMemory::create(LEN)?;
        let nonce = random()?;
        memory.write(NONCE_AT, &nonce);
        write_address(&memory, Side::Creator);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = [file.as_fd()];
        control.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(&socket, &[IoSlice::new(&secret.to_le_bytes())], &mut control, SendFlags::NOSIGNAL)?;
        Ok(Offered { vc, since: now, socket, peer, memory: Arc::new(memory), nonce })
    }

    /// The socket, for the poll set.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether the peer has proven that it maps the memory. [`io::ErrorKind::WouldBlock`]: not yet.
    pub fn is_answered(&mut self) -> io::Result<()> {
        let mut nonce = [0; NONCE_LEN];
        let got = self.socket.read(&mut nonce)?;
        if got == NONCE_LEN && nonce == self.nonce { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    /// The memory, after [`Offered::is_answered`].
    pub fn into_shared(self) -> Shared {
        let process = introduce(&self.memory, Side::Creator, self.peer.pid);
        Shared { memory: self.memory, side: Side::Creator, socket: self.socket, process }
    }
}

/// Publishes the address of the shared memory in this process, and checks whether the peer's memory can be read, by reading the nonce
/// at the peer's address.
fn introduce(memory: &SharedMemory, side: Side, pid: i32) -> Option<Process> {
    write_address(memory, side);
    let (mut address, mut nonce) = ([0; 8], [0; NONCE_LEN]);
    memory.read(side.peer().word(Word::Address), &mut address);
    memory.read(NONCE_AT, &mut nonce);
    let process = Process::find(pid, u64::from_le_bytes(address).wrapping_add(NONCE_AT as u64), nonce);
    memory.store(side.word(Word::Reads), u32::from(process.is_some()), Ordering::Release);
    process
}

fn write_address(memory: &SharedMemory, side: Side) {
    memory.write(side.word(Word::Address), &memory.address().to_le_bytes());
}

/// The process at the other end, if it belongs to this user.
fn same_user(socket: &UnixStream) -> io::Result<PeerProcess> {
    let peer = peer_process(socket.as_fd())?;
    if is_same_user(&peer) { Ok(peer) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

fn is_same_user(peer: &PeerProcess) -> bool {
    peer.uid == rustix::process::geteuid().as_raw()
}

fn path(name: u64) -> String {
    format!("fishplate-{name:016x}")
}
