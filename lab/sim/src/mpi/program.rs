//! The interface of simulated MPI programs. Programs are asynchronous functions, which wait only in virtual time.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use fishplate_engine::{
    Atomic, AtomicRequest, Context, Envelope, Extent, Pattern, Payload, ReadRequest, RecvRequest, Region, Remote,
    SendRequest, Space, VcId, WriteRequest,
};

use super::chain::{Chain, Part};
use super::costs::Costs;
use super::log::{Entry, Strand};
pub use super::rank::Tag;
use super::rank::{Rank, Request};
use super::synchronous::Asked;
use super::world::{WINDOW_KEY, World};
use crate::models::time::Time;

/// Where a window begins.
const WINDOW: Remote = Remote { key: WINDOW_KEY, address: 0 };

/// A program under way.
pub type Task = Pin<Box<dyn Future<Output = ()>>>;

/// One rank's MPI.
#[derive(Clone)]
pub struct Mpi {
    world: Rc<RefCell<World>>,
    alignment: Rc<Cell<Alignment>>,
    rank: u32,
    ranks: u32,
    eager_limit: u64,
    strand: Strand,
}

/// Condition for the completion of a send.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaits {
    /// Its memory may be used again.
    Memory,
    /// The acknowledgement of the receiver.
    Acknowledgement,
}

/// Where ranks wait to go on together.
#[derive(Clone, Copy, Default)]
struct Alignment {
    /// Ranks that have come.
    come: u32,
    /// How often all had come.
    number: u64,
    /// The greatest of what they brought.
    greatest: Time,
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Ranks that wait for what never comes.
    pub ranks: Vec<u32>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ranks {:?} wait for ever", self.ranks)
    }
}

/// Runs one program per rank to its end. Deterministic: equal worlds and programs give equal results.
///
/// # Errors
/// If no events are left and ranks still wait.
pub fn run(world: World, program: impl Fn(Mpi) -> Task) -> Result<World, Deadlock> {
    let (ranks, eager_limit) = (world.ranks(), world.kind().unawaited_bytes);
    let world = Rc::new(RefCell::new(world));
    let alignment = Rc::new(Cell::default());
    let mpi = |rank| Mpi {
        world: world.clone(),
        alignment: alignment.clone(),
        rank,
        ranks,
        eager_limit,
        strand: Strand::default(),
    };
    let mut tasks: Vec<Option<Task>> = (0..ranks).map(|rank| Some(program(mpi(rank)))).collect();
    let mut left = tasks.len();
    let mut poll = |rank: u32| {
        let task = &mut tasks[rank as usize];
        let mut context = TaskContext::from_waker(Waker::noop());
        if task.as_mut().is_some_and(|task| task.as_mut().poll(&mut context).is_ready()) {
            *task = None;
            left -= 1;
        }
        left
    };
    for rank in 0..ranks {
        world.borrow_mut().rank(rank).is_ready = false;
        poll(rank);
    }
    loop {
        let ready = world.borrow_mut().take_ready();
        if let Some(rank) = ready {
            if poll(rank) == 0 {
                break;
            }
        } else if !world.borrow_mut().step() {
            break;
        }
    }
    let waiting: Vec<u32> = (0..ranks).filter(|rank| tasks[*rank as usize].is_some()).collect();
    drop(tasks);
    match Rc::try_unwrap(world) {
        Ok(world) if waiting.is_empty() => Ok(world.into_inner()),
        _ => Err(Deadlock { ranks: waiting }),
    }
}

impl Mpi {
    /// This rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// All ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// For activities concurrent with the program.
    pub fn beside(&self, strand: Strand) -> Mpi {
        Mpi { strand, ..self.clone() }
    }

    /// The program has waited for what went on beside it.
    pub fn joined(&self, strand: Strand) {
        self.world.borrow_mut().note(self.rank, self.strand, || Entry::Join(strand));
    }

    /// The time, as this rank sees it.
    pub fn time(&self) -> Time {
        let mut world = self.world.borrow_mut();
        let now = world.now();
        world.rank(self.rank).core_free.later(now)
    }

    /// Computes for so long: nothing goes on for this rank but what kernels do, and the thread that watches over it.
    pub async fn compute(&self, time: Time) {
        if time > Time::default() {
            self.world.borrow_mut().begin_compute(self.rank, time);
            self.spend(time, Part::Computation).await;
        }
    }

    /// Occupies the core for this time, within a call or in a process that continues to poll the network.
    pub async fn work(&self, time: Time) {
        self.spend(time, Part::Software).await;
    }

    async fn spend(&self, time: Time, part: Part) {
        if time > Time::default() {
            let end = self.world.borrow_mut().spend(self.rank, time, part);
            self.sleep_until(end).await;
        }
    }

    /// Waits until `time`.
    pub async fn sleep_until(&self, time: Time) {
        self.world.borrow_mut().wake_at(self.rank, time);
        poll_fn(|_| if self.world.borrow().now() >= time { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Wakes the program of another rank to check its condition.
    pub fn wake(&self, rank: u32) {
        self.world.borrow_mut().make_ready(rank);
    }

    /// Why this rank's program does what it does now, if that is followed.
    pub fn cause(&self) -> Option<Chain> {
        self.world.borrow().cause(self.rank)
    }

    /// This rank has waited for a processor.
    pub fn waited_for_processor(&self) {
        self.world.borrow_mut().follow(|causes, now| causes.waited(self.rank, Part::Computation, now));
    }

    /// Costs of this rank's MPI library.
    pub fn costs(&self) -> Costs {
        self.world.borrow_mut().rank(self.rank).costs
    }

    /// Whether a message of this size is sent eagerly.
    pub fn is_eager(&self, bytes: u64) -> bool {
        bytes <= self.eager_limit
    }

    async fn call(&self) {
        self.work(self.costs().call).await;
    }

    /// Takes notice of the other side of a one-sided epoch.
    pub async fn synchronise(&self) {
        self.work(self.costs().synchronise).await;
    }

    /// Adds what an accumulate has brought.
    pub async fn accumulate(&self) {
        self.work(self.costs().accumulate).await;
    }

    /// Copies what this rank has for itself in an all-to-all exchange.
    pub async fn copy_own_part(&self, bytes: u64) {
        self.work(self.costs().own_part(bytes)).await;
    }

    /// Begins to send.
    pub async fn isend(&self, to: u32, tag: Tag, bytes: u64) -> Request {
        self.post_send(to, (tag, None), bytes, Awaits::Memory).await
    }

    /// Starts a synchronous send, complete only once the message is received: as in MPI libraries, the receiver answers it.
    pub async fn isend_synchronous(&self, to: u32, tag: Tag, bytes: u64) -> [Request; 2] {
        let asked = Asked { rank: self.rank, number: self.world.borrow_mut().rank(self.rank).next_synchronous() };
        let answer = self.irecv(to, asked.tag(), 0).await;
        [self.post_send(to, (tag, Some(asked.data())), bytes, Awaits::Memory).await, answer]
    }

    /// Begins to send what counts as sent only when the receiver has acknowledged it.
    pub async fn isend_acknowledged(&self, to: u32, tag: Tag, bytes: u64) -> Request {
        let awaits = if bytes > 0 { Awaits::Acknowledgement } else { Awaits::Memory };
        self.post_send(to, (tag, None), bytes, awaits).await
    }

    async fn post_send(&self, to: u32, (tag, data): (Tag, Option<u64>), bytes: u64, awaits: Awaits) -> Request {
        self.call().await;
        let mut world = self.world.borrow_mut();
        world.connect(self.rank, to);
        let request = world.begin_request(self.rank);
        world.rank(self.rank).count_send();
        world.note(self.rank, self.strand, || Entry::Send { request, to, tag, bytes });
        let process = world.rank(self.rank);
        // A message that goes at once is copied or lies in the adapter: its sender does not wait for it.
        let eager = awaits == Awaits::Memory && self.is_eager(bytes);
        if let Some(vc) = process.channel(to) {
            process.uses(vc);
            let envelope = Envelope::Tagged(tag);
            let context = Context(u64::from(request.0));
            let payload = memory(bytes);
            let send = SendRequest { vc, envelope, data, payload, inject: false, notify: !eager, context };
            let posted = process.engine.post_send(send);
            debug_assert!(posted.is_ok());
            if let (Ok(key), Awaits::Memory) = (posted, awaits) {
                world.may_buffer(self.rank, key);
            }
        }
        if eager {
            world.rank(self.rank).complete(request);
        }
        world.drive(self.rank);
        request
    }

    /// Begins to receive.
    pub async fn irecv(&self, from: u32, tag: Tag, bytes: u64) -> Request {
        self.irecv_any(Some(from), (tag, 0), bytes).await
    }

    /// Begins to receive, from any rank if none is given, with any tag that differs only in the bits of the second number.
    pub async fn irecv_any(&self, from: Option<u32>, (tag, ignore): (Tag, Tag), bytes: u64) -> Request {
        self.call().await;
        let mut world = self.world.borrow_mut();
        from.into_iter().for_each(|from| world.connect(self.rank, from));
        let request = world.begin_request(self.rank);
        world.note(self.rank, self.strand, || Entry::Receive { request, from, tag, bytes });
        let process = world.rank(self.rank);
        let source = from.and_then(|from| process.channel(from));
        source.into_iter().for_each(|vc| process.uses(vc));
        let pattern = Pattern { space: Space::Tagged { tag, ignore }, source };
        let context = Context(u64::from(request.0));
        let buffer = memory(bytes);
        process.engine.post_recv(RecvRequest { pattern, buffer, multi_min_free: None, notify: true, context });
        world.receive_posted(self.rank);
        request
    }

    /// Looks at the network.
    pub fn progress(&self) {
        self.world.borrow_mut().progress(self.rank);
    }

    /// Waits for requests.
    pub async fn wait_all(&self, requests: &[Request]) {
        self.world.borrow_mut().note(self.rank, self.strand, || Entry::Wait(requests.to_vec()));
        self.progress();
        let wait = self.world.borrow_mut().rank(self.rank).begin_wait(requests);
        let is_over = || self.world.borrow_mut().rank(self.rank).end_wait(wait);
        poll_fn(|_| if is_over() { Poll::Ready(()) } else { Poll::Pending }).await;
        // A completed request is seen only once the core is free.
        self.settle().await;
    }

    /// Goes on when the core has done what it has to.
    async fn settle(&self) {
        let free = self.time();
        if free > self.world.borrow().now() {
            self.sleep_until(free).await;
        }
    }

    /// Waits until all ranks call it; all continue at one time: a barrier without messages and without skew.
    pub async fn align(&self) {
        self.greatest(Time::default()).await;
    }

    /// Like [`Mpi::align`], and returns the maximum of the ranks' values.
    pub async fn greatest(&self, value: Time) -> Time {
        self.settle().await;
        let Alignment { come, number, greatest } = self.alignment.get();
        let greatest = if come == 0 { value } else { greatest.later(value) };
        let all = come + 1 == self.ranks;
        let (come, number_now) = if all { (0, number + 1) } else { (come + 1, number) };
        self.alignment.set(Alignment { come, number: number_now, greatest });
        if all {
            (0..self.ranks).for_each(|rank| self.world.borrow_mut().make_ready(rank));
        }
        poll_fn(|_| if self.alignment.get().number > number { Poll::Ready(()) } else { Poll::Pending }).await;
        self.alignment.get().greatest
    }

    /// Waits for one request.
    pub async fn wait(&self, request: Request) {
        self.wait_all(&[request]).await;
    }

    /// Sends.
    pub async fn send(&self, to: u32, tag: Tag, bytes: u64) {
        let request = self.isend(to, tag, bytes).await;
        self.wait(request).await;
    }

    /// Receives.
    pub async fn recv(&self, from: u32, tag: Tag, bytes: u64) {
        let request = self.irecv(from, tag, bytes).await;
        self.wait(request).await;
    }

    /// Sends and receives concurrently.
    pub async fn sendrecv(&self, to: u32, sent: u64, from: u32, received: u64, tag: Tag) {
        self.exchange([(from, tag, received)], [(to, tag, sent)]).await;
    }

    /// Receives and sends messages that are all under way together: each with the peer, the tag and the length.
    pub async fn exchange(
        &self,
        receives: impl IntoIterator<Item = (u32, Tag, u64)>,
        sends: impl IntoIterator<Item = (u32, Tag, u64)>,
    ) {
        let mut requests = Vec::new();
        for (from, tag, bytes) in receives {
            requests.push(self.irecv(from, tag, bytes).await);
        }
        for (to, tag, bytes) in sends {
            requests.push(self.isend(to, tag, bytes).await);
        }
        self.wait_all(&requests).await;
    }

    /// Begins to write into a peer's window.
    pub async fn put(&self, to: u32, bytes: u64) -> Request {
        self.one_sided(to, |process, vc, context| {
            let (to, payload) = (WINDOW, memory(bytes));
            let write = WriteRequest { vc, to, data: None, payload, inject: false, notify: true, context };
            process.engine.post_write(write).is_ok()
        })
        .await
    }

    /// Begins to read from a peer's window.
    pub async fn get(&self, from: u32, bytes: u64) -> Request {
        self.one_sided(from, |process, vc, context| {
            let read = ReadRequest { vc, from: WINDOW, buffer: memory(bytes), notify: true, context };
            process.engine.post_read(read).is_ok()
        })
        .await
    }

    /// Begins an atomic operation on a peer's window.
    pub async fn atomic(&self, to: u32, what: Atomic) -> Request {
        self.one_sided(to, |process, vc, context| {
            let (operands, result) = (memory(what.operands_len()), memory(what.result_len()));
            let request = AtomicRequest { vc, to: WINDOW, what, operands, result, notify: true, context };
            process.engine.post_atomic(request).is_ok()
        })
        .await
    }

    /// Begins an operation on a peer's window, which `post` posts.
    async fn one_sided(&self, peer: u32, post: impl FnOnce(&mut Rank, VcId, Context) -> bool) -> Request {
        self.call().await;
        let mut world = self.world.borrow_mut();
        world.connect(self.rank, peer);
        let request = world.begin_request(self.rank);
        world.note(self.rank, self.strand, || Entry::OneSided);
        let process = world.rank(self.rank);
        if let Some(vc) = process.channel(peer) {
            let is_posted = post(process, vc, Context(u64::from(request.0)));
            debug_assert!(is_posted);
        }
        world.drive(self.rank);
        request
    }

    /// Reads `count` times from a peer's window, as many at a time as the library or adapter does.
    pub async fn read(&self, from: u32, bytes: u64, count: u32) {
        let Costs { read, reads_in_flight, .. } = self.costs();
        let lanes = reads_in_flight.min(count);
        let lane = |first: u32| -> Task {
            let mpi = self.clone();
            Box::pin(async move {
                for _ in (first..count).step_by(lanes as usize) {
                    let request = mpi.get(from, bytes).await;
                    mpi.wait(request).await;
                    if bytes > 0 {
                        mpi.sleep_until(mpi.time() + read).await;
                    }
                }
            })
        };
        join((0..lanes).map(lane).collect()).await;
    }
}

/// Runs parts of a program concurrently.
pub async fn join(mut tasks: Vec<Task>) {
    poll_fn(|context| {
        tasks.retain_mut(|task| task.as_mut().poll(context).is_pending());
        if tasks.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Memory that is never accessed.
fn memory(bytes: u64) -> Payload {
    Payload::One(Extent { region: Region(0), offset: 0, len: bytes })
}
