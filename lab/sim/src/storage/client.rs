//! A client of a file system.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use super::layout::{Part, Piece, cut, parts};
use super::requests::{FileSystem, Message, Request, copy, tag};
use super::stream;
use super::turns::Turns;
use crate::models::time::Time;
use crate::mpi::program::{Mpi, Task, join};

/// A client; copies share its state.
#[derive(Clone)]
pub struct Client {
    mpi: Mpi,
    system: Rc<FileSystem>,
    /// Unused credits by server.
    credits: Rc<RefCell<Vec<Vec<u32>>>>,
    turns: Rc<Turns>,
}

impl Client {
    /// Opens a file: the manager says how it is distributed, and takes no part in what follows.
    pub async fn open(mpi: &Mpi, system: &Rc<FileSystem>) -> Client {
        let credits = (0..system.servers()).map(|_| (0..system.credits()).rev().collect()).collect();
        let client = Client {
            mpi: mpi.clone(),
            system: system.clone(),
            credits: Rc::new(RefCell::new(credits)),
            turns: Rc::default(),
        };
        client.request(0, Request { write: false, bytes: 0, places: 0 }).await;
        client
    }

    /// Reads or writes pieces of the file.
    pub async fn access(&self, write: bool, pieces: &[Piece]) {
        let storage = self.system.storage();
        for some in pieces.chunks(storage.pieces.value as usize) {
            let parts = parts(some, storage.stripe_bytes.value as u64, self.system.servers());
            let requests = parts.iter().flat_map(|part| self.requests_of(part));
            let tasks = requests.map(|(server, bytes, places)| -> Task {
                let client = self.clone();
                Box::pin(async move { client.request(server, Request { write, bytes, places }).await })
            });
            join(tasks.collect()).await;
        }
    }

    /// No more will come.
    pub async fn close(&self) {
        for server in 0..self.system.servers() {
            for credit in 0..self.system.credits() {
                self.mpi.send(self.system.rank_of(server), tag(credit, Message::Request), 0).await;
            }
        }
    }

    /// The part of an access on one server, as requests: (server, bytes, places).
    fn requests_of(&self, part: &Part) -> Vec<(u32, u64, u64)> {
        let most = self.system.storage().request_bytes.as_ref().map_or(part.bytes, |most| most.value as u64).max(1);
        let places = part.places.div_ceil(part.bytes.div_ceil(most).max(1));
        cut(part.bytes, most).map(|bytes| (part.server, bytes, places)).collect()
    }

    async fn request(&self, server: u32, request: Request) {
        let Client { mpi, system, .. } = self;
        let storage = system.storage();
        let credit = self.take_credit(server).await;
        let to = system.rank_of(server);
        let behind = if request.write && system.writes_at_once() { request.bytes } else { 0 };
        let rate = storage.client_copy_mb_s.as_ref().map(|rate| rate.value);
        let ask = async {
            mpi.work(Time::ns(storage.client_request_ns.value) + copy(behind, rate)).await;
            system.ask((mpi.rank(), server, credit), request);
            mpi.send(to, tag(credit, Message::Request), system.request_bytes(&request) + behind).await;
        };
        self.turns.take(mpi, ask).await;
        let copies = async |bytes| self.turns.take(mpi, mpi.work(copy(bytes, rate))).await;
        let name = (to, credit);
        match (request.write, storage.rdma) {
            (true, false) => {
                if !system.writes_at_once() {
                    self.answer(name).await;
                    stream::send(mpi, system, name, (0, request.bytes), copies).await;
                }
                self.answer(name).await;
            }
            (true, true) => {
                copies(request.bytes).await;
                self.answer(name).await;
            }
            (false, false) => {
                stream::receive(mpi, system, name, (system.message_bytes(), request.bytes), copies).await;
            }
            (false, true) => {
                self.answer(name).await;
                copies(request.bytes).await;
            }
        }
        self.give_back(server, credit);
    }

    async fn answer(&self, (from, credit): (u32, u32)) {
        self.mpi.recv(from, tag(credit, Message::Answer), self.system.message_bytes()).await;
    }

    async fn take_credit(&self, server: u32) -> u32 {
        let take = || self.credits.borrow_mut()[server as usize].pop();
        poll_fn(|_| take().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Those of this rank that wait for one look again.
    fn give_back(&self, server: u32, credit: u32) {
        self.credits.borrow_mut()[server as usize].push(credit);
        self.mpi.wake(self.mpi.rank());
    }
}
