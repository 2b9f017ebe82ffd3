//! Records messages between two ranks in a profile: sends, receives, exchanges, matching probes.

use fishplate_profile::calls::{Form, Kind};

use super::observation::After;
use crate::profile::{Message, Operation, Probed};

impl After<'_> {
    /// Records messages that the call sends and receives, and the request created for them.
    pub fn messages(&mut self) {
        let sent = self.outgoing.map(|message| Operation::Send { message, number: None });
        let received = self.received_in.filter(|_| self.receives()).map(|communicator| self.receive(communicator));
        self.operations([sent, received]);
    }

    /// Records operations of the call, and the request created for them.
    pub fn operations(&mut self, operations: [Option<Operation>; 2]) {
        let (origin, began) = ((self.moment.call, self.moment.site), [self.moment.began; 3]);
        let form = self.arguments.call.form;
        if form == Form::Plain {
            for operation in operations.into_iter().flatten() {
                let status = || self.seen.statuses.as_ref().and_then(|statuses| statuses.read(0));
                self.recorder.blocking(&self.moment, operation, status);
            }
            return;
        }
        let operations = operations.map(|operation| match operation? {
            // The probe has numbered it.
            operation @ Operation::Receive { .. } if self.probed.is_some() => Some(operation),
            operation if form == Form::Immediate => Some(self.recorder.start(origin, began, operation)),
            operation => Some(operation),
        });
        self.add_request(operations);
    }

    /// The message that the call sends; `None` if to MPI_PROC_NULL.
    pub fn outgoing(&mut self) -> Option<Message> {
        let peer = self.arguments.int(b'd').filter(|rank| *rank >= 0)?;
        let tag = self.arguments.int(b'g')?;
        let communicator = self.recorder.communicators.place(self.comm?);
        let count = self.arguments.count(b'n').or_else(|| self.arguments.count(b'e'))?;
        let partitions = self.arguments.int(b'p').map_or(1, |partitions| u64::try_from(partitions).unwrap_or(0));
        Some(Message { communicator, peer, tag, bytes: count * partitions * self.size(b't') })
    }

    pub fn receives(&self) -> bool {
        let from = self.arguments.int(b's');
        // MPI_ANY_SOURCE and MPI_PROC_NULL are negative; nothing is ever received from the latter.
        from.is_some() || self.arguments.has(b'm')
    }

    /// The communicator of a receive; for a probed message, that of the probe.
    pub fn receiving_communicator(&mut self) -> Option<usize> {
        if !matches!(self.arguments.call.kind, Kind::Receive | Kind::ReceiveInit | Kind::Exchange) {
            return None;
        }
        match self.comm {
            Some(comm) => Some(self.recorder.communicators.place(comm)),
            None => {
                self.probed = self.recorder.probed.take(self.seen.message?);
                self.probed.map(|probed| probed.communicator)
            }
        }
    }

    /// Source and tag of a receive.
    pub fn envelope(&self) -> (i32, i32) {
        (self.arguments.int(b's').unwrap_or(-1), self.arguments.int(b'G').unwrap_or(-1))
    }

    fn receive(&self, communicator: usize) -> Operation {
        if let Some(Probed { from, tag, number, .. }) = self.probed {
            return Operation::Receive { communicator, from, tag, number, room: None };
        }
        let (from, tag) = self.envelope();
        let is_immediate = self.arguments.call.form == Form::Immediate;
        let room = if is_immediate && !self.has_valid_status() { Some(self.room()) } else { None };
        Operation::Receive { communicator, from, tag, number: None, room }
    }

    /// Whether the status of a receive is valid. In MPICH (5.0.2) it is not for nonblocking exchanges: their statuses are those of
    /// other requests.
    pub fn has_valid_status(&self) -> bool {
        let is_exchange_by_request =
            self.arguments.call.kind == Kind::Exchange && self.arguments.call.form != Form::Plain;
        self.abi.is_open_mpi() || !is_exchange_by_request
    }

    /// Size of the receive buffer in bytes.
    pub fn room(&self) -> u64 {
        let one = |count, datatype| self.arguments.count(count).map(|count| count * self.size(datatype));
        let partitions = self.arguments.int(b'p').map_or(1, |partitions| u64::try_from(partitions).unwrap_or(0));
        one(b'N', b'T').or_else(|| one(b'e', b't')).unwrap_or(0) * partitions
    }

    /// Records a message found by a matching probe: it is the next message of its stream, even if others are received earlier.
    pub fn probe(&mut self) {
        let found = !self.arguments.has(b'l') || self.arguments.written(b'l').unwrap_or(0) != 0;
        let (true, Some(handle), Some(comm)) = (found, self.arguments.request(self.abi, b'm', 0), self.comm) else {
            return;
        };
        // A probe of MPI_PROC_NULL finds no message.
        let Some((from, tag, bytes)) = self.status(0).filter(|(from, ..)| *from >= 0) else { return };
        let communicator = self.recorder.communicators.place(comm);
        let number = self.recorder.number_of_received(communicator, from, tag);
        let id = self.recorder.handles.new_id();
        let probed = Probed { id, communicator, from, tag, bytes, number };
        self.recorder.probed.add(handle, probed);
        self.probed = Some(probed);
    }
}
