//! One endpoint with its completion queue, address vector and, if wanted, counter.

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Once;
use std::time::{Duration, Instant};

use ofi_abi::*;

/// The objects of one side; closed in order when dropped.
pub struct Node {
    info: *mut fi_info,
    pub fabric: *mut fid_fabric,
    domain: *mut fid_domain,
    cq: *mut fid_cq,
    av: *mut fid_av,
    counter: *mut fid_cntr,
    ep: *mut fid_ep,
}

#[derive(Debug)]
pub struct Entry {
    pub context: u64,
    pub flags: u64,
    pub len: usize,
    pub buf: u64,
    pub data: u64,
    pub tag: u64,
}

#[derive(Debug)]
pub struct ErrorEntry {
    pub context: u64,
    pub flags: u64,
    pub err: c_int,
    pub len: usize,
    pub olen: usize,
    pub tag: u64,
}

#[derive(Debug)]
pub enum Read {
    Entry(Entry),
    Error,
    Nothing,
}

/// Two nodes that have each other at index 0.
pub fn pair() -> (Node, Node) {
    connect(Node::open(false), Node::open(false))
}

/// Two such nodes, each with a counter of its sends and receives.
pub fn pair_with_counters() -> (Node, Node) {
    connect(Node::open(true), Node::open(true))
}

fn connect(a: Node, b: Node) -> (Node, Node) {
    a.insert(&b);
    b.insert(&a);
    (a, b)
}

fn ok(result: c_int) {
    assert_eq!(result, 0);
}

fn context(number: u64) -> *mut c_void {
    std::ptr::without_provenance_mut(number as usize)
}

/// What the provider's function `$name` in `$table` of `$object` gives for the arguments.
macro_rules! invoke {
    ($object:expr, $table:ident, $name:ident $(, $argument:expr)*) => {{
        let object = $object;
        // SAFETY: an object that the provider opened and that is still open; the arguments live through the call,
        // buffers until the test has waited for their completion.
        unsafe { ((*(*object).$table).$name)(object $(, $argument)*) }
    }};
}

/// A function that takes the `fid` of the object instead.
macro_rules! invoke_fid {
    ($object:expr, $($table:ident).+, $name:ident $(, $argument:expr)*) => {{
        let object = $object;
        // SAFETY: as for `invoke`.
        unsafe { ((*(*object).$($table).+).$name)(object.cast() $(, $argument)*) }
    }};
}

impl Node {
    pub fn open(counted: bool) -> Node {
        static ENVIRONMENT: Once = Once::new();
        // SAFETY: once, before anything in this process reads the environment.
        ENVIRONMENT.call_once(|| unsafe { std::env::set_var("FISHPLATE_RAILS", "lo") });
        let provider = crate::provider();
        let mut info = null_mut();
        let mut fabric = null_mut();
        // SAFETY: the provider's own structure; results are written to locals.
        unsafe {
            ok(((*provider).getinfo)(fi_version(2, 5), null(), null(), 0, null(), &mut info));
            (*(*info).tx_attr).op_flags = FI_COMPLETION;
            (*(*info).rx_attr).op_flags = FI_COMPLETION;
            ok(((*provider).fabric)((*info).fabric_attr, &mut fabric, null_mut()));
        }
        let mut node = Node {
            info,
            fabric,
            domain: null_mut(),
            cq: null_mut(),
            av: null_mut(),
            counter: null_mut(),
            ep: null_mut(),
        };
        node.open_objects();
        node.bind_objects(counted);
        node
    }

    fn open_objects(&mut self) {
        let mut cq_attr = fi_cq_attr {
            size: 0,
            flags: 0,
            format: FI_CQ_FORMAT_TAGGED,
            wait_obj: FI_WAIT_NONE,
            signaling_vector: 0,
            wait_cond: 0,
            wait_set: null_mut(),
        };
        ok(invoke!(self.fabric, ops, domain, self.info, &mut self.domain, null_mut()));
        ok(invoke!(self.domain, ops, cq_open, &mut cq_attr, &mut self.cq, null_mut()));
        ok(invoke!(self.domain, ops, av_open, null_mut(), &mut self.av, null_mut()));
        ok(invoke!(self.domain, ops, endpoint, self.info, &mut self.ep, null_mut()));
    }

    fn bind_objects(&mut self, counted: bool) {
        let flags = FI_SEND | FI_RECV | FI_SELECTIVE_COMPLETION;
        ok(invoke_fid!(self.ep, fid.ops, bind, self.av.cast(), 0));
        ok(invoke_fid!(self.ep, fid.ops, bind, self.cq.cast(), flags));
        if counted {
            ok(invoke!(self.domain, ops, cntr_open, null_mut(), &mut self.counter, null_mut()));
            let all = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
            ok(invoke_fid!(self.ep, fid.ops, bind, self.counter.cast(), all));
        }
        ok(invoke_fid!(self.ep, fid.ops, control, FI_ENABLE, null_mut()));
    }

    pub fn insert(&self, peer: &Node) {
        let mut name = [0u8; 64];
        let mut len = name.len();
        ok(invoke_fid!(peer.ep, cm, getname, name.as_mut_ptr().cast(), &mut len));
        let mut index = u64::MAX;
        let inserted = invoke!(self.av, ops, insert, name.as_ptr().cast(), 1, &mut index, 0, null_mut());
        assert_eq!((inserted, index, len), (1, 0, 64));
    }

    pub fn name_with_room(&self, room: usize) -> (c_int, usize) {
        let (mut name, mut len) = ([0u8; 64], room);
        let result = invoke_fid!(self.ep, cm, getname, name.as_mut_ptr().cast(), &mut len);
        (result, len)
    }

    pub fn send(&self, text: &[u8], number: u64) {
        let sent = invoke!(self.ep, msg, send, text.as_ptr().cast(), text.len(), null_mut(), 0, context(number));
        assert_eq!(sent, 0);
    }

    pub fn tsenddata(&self, text: &[u8], data: u64, tag: u64, number: u64) {
        let (start, len) = (text.as_ptr().cast(), text.len());
        assert_eq!(invoke!(self.ep, tagged, senddata, start, len, null_mut(), data, 0, tag, context(number)), 0);
    }

    pub fn tinject(&self, text: &[u8], tag: u64) -> isize {
        invoke!(self.ep, tagged, inject, text.as_ptr().cast(), text.len(), 0, tag)
    }

    pub fn trecv(&self, buffer: &mut [u8], tag: u64, ignore: u64, number: u64) {
        let (start, len) = (buffer.as_mut_ptr().cast(), buffer.len());
        let anybody = FI_ADDR_UNSPEC;
        assert_eq!(invoke!(self.ep, tagged, recv, start, len, null_mut(), anybody, tag, ignore, context(number)), 0);
    }

    pub fn trecvv(&self, buffers: &mut [&mut [u8]], tag: u64, number: u64) {
        let piece = |part: &mut &mut [u8]| iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() };
        let iov: Vec<iovec> = buffers.iter_mut().map(piece).collect();
        // The sender is named here.
        assert_eq!(invoke!(self.ep, tagged, recvv, iov.as_ptr(), null_mut(), iov.len(), 0, tag, 0, context(number)), 0);
    }

    pub fn recv_multi(&self, buffer: &mut [u8], number: u64) {
        let iov = iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let (addr, context) = (FI_ADDR_UNSPEC, context(number));
        let msg = fi_msg { msg_iov: &iov, desc: null_mut(), iov_count: 1, addr, context, data: 0 };
        assert_eq!(invoke!(self.ep, msg, recvmsg, &msg, FI_MULTI_RECV | FI_COMPLETION), 0);
    }

    pub fn tpeek(&self, tag: u64, flags: u64, number: u64) {
        assert_eq!(self.trecvmsg(&mut [], tag, flags, number), 0);
    }

    pub fn tclaim(&self, buffer: &mut [u8], number: u64) {
        assert_eq!(self.trecvmsg(buffer, 0, FI_CLAIM | FI_COMPLETION, number), 0);
    }

    fn trecvmsg(&self, buffer: &mut [u8], tag: u64, flags: u64, number: u64) -> isize {
        let iov = iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let (addr, context) = (FI_ADDR_UNSPEC, context(number));
        let (msg_iov, desc, iov_count) = (&raw const iov, null_mut(), 1);
        let msg = fi_msg_tagged { msg_iov, desc, iov_count, addr, tag, ignore: 0, context, data: 0 };
        invoke!(self.ep, tagged, recvmsg, &msg, flags)
    }

    pub fn register(&self, memory: &mut [u8], access: u64, key: u64) -> Result<*mut fid_mr, c_int> {
        self.register_raw(memory.as_mut_ptr().cast(), memory.len(), access, key)
    }

    pub fn register_raw(&self, start: *mut c_void, len: usize, access: u64, key: u64) -> Result<*mut fid_mr, c_int> {
        let mut region = null_mut();
        match invoke_fid!(self.domain, mr, reg, start, len, access, 0, key, 0, &mut region, null_mut()) {
            0 => Ok(region),
            error => Err(error),
        }
    }

    pub fn unregister(&self, region: *mut fid_mr) {
        ok(invoke_fid!(region, fid.ops, close));
    }

    pub fn write(&self, bytes: &[u8], address: u64, key: u64, number: u64) {
        let (start, len) = (bytes.as_ptr().cast(), bytes.len());
        assert_eq!(invoke!(self.ep, rma, write, start, len, null_mut(), 0, address, key, context(number)), 0);
    }

    pub fn writedata(&self, bytes: &[u8], data: u64, key: u64, number: u64) {
        let (start, len) = (bytes.as_ptr().cast(), bytes.len());
        assert_eq!(invoke!(self.ep, rma, writedata, start, len, null_mut(), data, 0, 0, key, context(number)), 0);
    }

    pub fn inject_write(&self, bytes: &[u8], address: u64, key: u64) {
        assert_eq!(invoke!(self.ep, rma, inject, bytes.as_ptr().cast(), bytes.len(), 0, address, key), 0);
    }

    pub fn read_memory(&self, buffer: &mut [u8], address: u64, key: u64, number: u64) {
        let (start, len) = (buffer.as_mut_ptr().cast(), buffer.len());
        assert_eq!(invoke!(self.ep, rma, read, start, len, null_mut(), 0, address, key, context(number)), 0);
    }

    /// On the array at an address of a key: an operation, by its type and number.
    pub fn atomic(&self, values: &[i64], (address, key): (u64, u64), (datatype, op): (u32, u32), number: u64) -> isize {
        let (start, count) = (values.as_ptr().cast(), values.len());
        invoke!(self.ep, atomic, write, start, count, null_mut(), 0, address, key, datatype, op, context(number))
    }

    pub fn inject_atomic(&self, values: &[i64], (address, key): (u64, u64), (datatype, op): (u32, u32)) -> isize {
        let (start, count) = (values.as_ptr().cast(), values.len());
        invoke!(self.ep, atomic, inject, start, count, 0, address, key, datatype, op)
    }

    pub fn fetch_atomic(
        &self,
        values: &[i64],
        result: &mut [i64],
        (address, key): (u64, u64),
        (datatype, op): (u32, u32),
        number: u64,
    ) -> isize {
        let (operands, operand_count) = (fi_ioc { addr: values.as_ptr().cast_mut().cast(), count: values.len() }, 1);
        let mut results = fi_ioc { addr: result.as_mut_ptr().cast(), count: result.len() };
        let target = fi_rma_ioc { addr: address, count: result.len(), key };
        let msg = fi_msg_atomic {
            msg_iov: &operands,
            desc: null_mut(),
            iov_count: operand_count,
            addr: 0,
            rma_iov: &target,
            rma_iov_count: 1,
            datatype,
            op,
            context: context(number),
            data: 0,
        };
        invoke!(self.ep, atomic, readwritemsg, &msg, &mut results, null_mut(), 1, FI_COMPLETION)
    }

    pub fn compare_atomic(
        &self,
        values: &[i64],
        comparands: &[i64],
        result: &mut [i64],
        (address, key): (u64, u64),
        (datatype, op): (u32, u32),
        number: u64,
    ) -> isize {
        let none = null_mut::<c_void>();
        let (start, count, compare) = (values.as_ptr().cast(), values.len(), comparands.as_ptr().cast());
        let (result, context) = (result.as_mut_ptr().cast(), context(number));
        invoke!(
            self.ep, atomic, compwrite, start, count, none, compare, none, result, none, 0, address, key, datatype, op,
            context
        )
    }

    /// Most elements of `fi_atomic`.
    pub fn most_atomics(&self, datatype: u32, op: u32) -> Result<usize, c_int> {
        let mut most = 0;
        match invoke!(self.ep, atomic, writevalid, datatype, op, &mut most) {
            0 => Ok(most),
            error => Err(error),
        }
    }

    /// Greatest number of elements, and the length of one, as the domain reports them.
    pub fn query_atomic(&self, datatype: u32, op: u32, flags: u64) -> Result<(usize, usize), c_int> {
        let mut attr = fi_atomic_attr { count: 0, size: 0 };
        match invoke!(self.domain, ops, query_atomic, datatype, op, &mut attr, flags) {
            0 => Ok((attr.count, attr.size)),
            error => Err(error),
        }
    }

    pub fn cancel(&self, number: u64) {
        assert_eq!(invoke_fid!(self.ep, ops, cancel, context(number)), 0);
    }

    pub fn counted(&self) -> u64 {
        invoke!(self.counter, ops, read)
    }

    pub fn counter_errors(&self) -> u64 {
        invoke!(self.counter, ops, readerr)
    }

    pub fn read(&self) -> Read {
        self.read_from().0
    }

    /// Reads an entry as MPI libraries do; whether there was one.
    pub fn has_read(&self) -> bool {
        let mut raw = fi_cq_tagged_entry { op_context: null_mut(), flags: 0, len: 0, buf: null_mut(), data: 0, tag: 0 };
        invoke!(self.cq, ops, read, (&raw mut raw).cast(), 1) == 1
    }

    /// Makes progress without taking entries.
    pub fn make_progress(&self) {
        let nothing = invoke!(self.cq, ops, read, null_mut(), 0) as c_int;
        assert!(nothing == -FI_EAGAIN || nothing == -FI_EAVAIL);
    }

    fn read_from(&self) -> (Read, u64) {
        let mut raw = fi_cq_tagged_entry { op_context: null_mut(), flags: 0, len: 0, buf: null_mut(), data: 0, tag: 0 };
        let mut source = 0;
        let read = match invoke!(self.cq, ops, readfrom, (&raw mut raw).cast(), 1, &mut source) as c_int {
            1 => Read::Entry(Entry {
                context: raw.op_context as u64,
                flags: raw.flags,
                len: raw.len,
                buf: raw.buf as u64,
                data: raw.data,
                tag: raw.tag,
            }),
            result if result == -FI_EAVAIL => Read::Error,
            result => {
                assert_eq!(result, -FI_EAGAIN);
                Read::Nothing
            }
        };
        (read, source)
    }

    pub fn read_error(&self) -> ErrorEntry {
        // SAFETY: integers and pointers may be zero.
        let mut raw: fi_cq_err_entry = unsafe { std::mem::zeroed() };
        assert_eq!(invoke!(self.cq, ops, readerr, &mut raw, 0), 1);
        let (context, flags, err) = (raw.op_context as u64, raw.flags, raw.err);
        ErrorEntry { context, flags, err, len: raw.len, olen: raw.olen, tag: raw.tag }
    }

    /// Waits for something in the queue, letting the other side run as well.
    fn wait_for(&self, other: &Node) -> (Read, u64) {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            other.make_progress();
            match self.read_from() {
                (Read::Nothing, _) => assert!(Instant::now() < end, "nothing comes"),
                found => return found,
            }
        }
    }

    /// Waits for an entry while the other side does nothing.
    pub fn wait_alone(&self) -> Entry {
        match self.wait_for(self) {
            (Read::Entry(entry), _) => entry,
            (found, _) => panic!("{found:?}"),
        }
    }

    pub fn wait_any(&self, other: &Node) -> Read {
        self.wait_for(other).0
    }

    pub fn wait_from(&self, other: &Node) -> (Entry, u64) {
        match self.wait_for(other) {
            (Read::Entry(entry), source) => (entry, source),
            _ => panic!("{:?}", self.read_error()),
        }
    }

    pub fn wait(&self, other: &Node) -> Entry {
        self.wait_from(other).0
    }

    pub fn wait_error(&self, other: &Node) -> ErrorEntry {
        match self.wait_any(other) {
            Read::Error => self.read_error(),
            found => panic!("{found:?}"),
        }
    }

    /// Closes everything but the endpoint.
    pub fn try_close_parts(&self) -> [c_int; 4] {
        [
            invoke_fid!(self.av, fid.ops, close),
            invoke_fid!(self.cq, fid.ops, close),
            invoke_fid!(self.domain, fid.ops, close),
            invoke_fid!(self.fabric, fid.ops, close),
        ]
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let mut results = vec![invoke_fid!(self.ep, fid.ops, close)];
        if !self.counter.is_null() {
            results.push(invoke_fid!(self.counter, fid.ops, close));
        }
        results.extend(self.try_close_parts());
        if !std::thread::panicking() {
            assert_eq!(results, vec![0; results.len()]);
        }
        // The structures of `getinfo` are libfabric's to free; here they are left to the end of the process.
    }
}
