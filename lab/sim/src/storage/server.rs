//! A server of a file system.

use std::rc::Rc;

use super::layout::cut;
use super::requests::{FileSystem, Message, Request, copy, tag};
use super::stream;
use super::turns::Turns;
use crate::models::time::Time;
use crate::mpi::program::{Mpi, Task, join};

/// Size of the buffer for a request and the written data that follows it.
const ANY_LENGTH: u64 = 1 << 40;

/// Serves until all clients have closed.
pub async fn serve(mpi: &Mpi, system: &Rc<FileSystem>) {
    let turns = Rc::new(Turns::default());
    let one = |(client, credit): (u32, u32)| -> Task {
        let service = Service { mpi: mpi.clone(), system: system.clone(), turns: turns.clone(), client, credit };
        Box::pin(async move { service.serve().await })
    };
    let names = (0..system.clients()).flat_map(|client| (0..system.credits()).map(move |credit| (client, credit)));
    join(names.map(one).collect()).await;
}

/// Serves the requests of one credit of a client, which are sequential.
struct Service {
    mpi: Mpi,
    system: Rc<FileSystem>,
    turns: Rc<Turns>,
    client: u32,
    credit: u32,
}

impl Service {
    async fn serve(&self) {
        let Service { mpi, system, client, credit, .. } = self;
        let server = mpi.rank() - system.clients();
        loop {
            mpi.recv(*client, tag(*credit, Message::Request), ANY_LENGTH).await;
            let Some(request) = system.asked((*client, server, *credit)) else { return };
            match (request.write, system.storage().rdma) {
                (false, false) => self.read(request).await,
                (true, false) => self.write(request).await,
                (false, true) => self.read_by_adapter(request).await,
                (true, true) => self.write_by_adapter(request).await,
            }
        }
    }

    async fn turn(&self, work: impl Future<Output = ()>) {
        self.turns.take(&self.mpi, work).await;
    }

    /// Cost of each request.
    async fn begin(&self, request: Request) {
        let storage = self.system.storage();
        let places = Time::ns(storage.piece_ns.value * request.places as f64);
        self.mpi.work(Time::ns(storage.server_request_ns.value) + places).await;
    }

    async fn answer(&self) {
        self.mpi.send(self.client, tag(self.credit, Message::Answer), self.system.message_bytes()).await;
    }

    /// Copying between the memory file system and the send and receive buffers.
    async fn copies(&self, bytes: u64) {
        let rate = self.system.storage().server_copy_mb_s.as_ref().map(|rate| rate.value);
        self.mpi.work(copy(bytes, rate)).await;
    }

    /// The answer goes in front of its data.
    async fn read(&self, request: Request) {
        let to = (self.client, self.credit);
        let copies = async |bytes| self.copies(bytes).await;
        let data = stream::send(&self.mpi, &self.system, to, (self.system.message_bytes(), request.bytes), copies);
        self.turn(async {
            self.begin(request).await;
            data.await;
        })
        .await;
    }

    async fn write(&self, request: Request) {
        if self.system.writes_at_once() {
            return self
                .turn(async {
                    self.begin(request).await;
                    self.copies(request.bytes).await;
                    self.answer().await;
                })
                .await;
        }
        self.turn(async {
            self.begin(request).await;
            self.answer().await;
        })
        .await;
        let from = (self.client, self.credit);
        let copies = async |bytes| self.turn(self.copies(bytes)).await;
        stream::receive(&self.mpi, &self.system, from, (0, request.bytes), copies).await;
        self.turn(self.answer()).await;
    }

    /// Write chunks: a connection delivers the answer behind what was written before it.
    async fn read_by_adapter(&self, request: Request) {
        let each = self.system.storage().flow_bytes.value as u64;
        let mut writes = Vec::new();
        self.turn(async {
            self.begin(request).await;
            self.copies(request.bytes).await;
            for bytes in cut(request.bytes, each) {
                writes.push(self.mpi.put(self.client, bytes).await);
            }
            self.answer().await;
        })
        .await;
        self.mpi.wait_all(&writes).await;
    }

    /// Read chunks: as many at a time as the adapter reads.
    async fn write_by_adapter(&self, request: Request) {
        self.turn(self.begin(request)).await;
        let each = self.system.storage().flow_bytes.value as u64;
        self.mpi.read(self.client, each, (request.bytes / each) as u32).await;
        if !request.bytes.is_multiple_of(each) {
            self.mpi.read(self.client, request.bytes % each, 1).await;
        }
        self.turn(async {
            self.copies(request.bytes).await;
            self.answer().await;
        })
        .await;
    }
}
