//! Atomic operations on remote memory.

use std::ffi::{c_int, c_void};

use fishplate_engine::{Atomic, AtomicOperation, Payload, Remote};
use ofi_abi::*;

use super::call;
use super::memory::{counted_pieces, piece};
use super::message::{Desc, Descs, context_number, on_endpoint, posting};
use crate::endpoint::atomics::{Call, Operation};
use crate::endpoint::{Endpoint, Report};
use crate::errno::{Errno, Outcome};

pub(super) static OPS: fi_ops_atomic = fi_ops_atomic {
    size: size_of::<fi_ops_atomic>(),
    write,
    writev,
    writemsg,
    inject,
    readwrite,
    readwritev,
    readwritemsg,
    compwrite,
    compwritev,
    compwritemsg,
    writevalid: valid::<0>,
    readwritevalid: valid::<FI_FETCH_ATOMIC>,
    compwritevalid: valid::<FI_COMPARE_ATOMIC>,
};

/// Arrays of this side: each with its count of elements.
struct Local {
    operands: (Payload, usize),
    comparands: (Payload, usize),
    result: (Payload, usize),
}

/// No array.
const NONE: (Payload, usize) = (Payload::EMPTY, 0);

impl Local {
    const NOTHING: Local = Local { operands: NONE, comparands: NONE, result: NONE };

    /// The number of elements, which all arrays that `what` needs have in common.
    fn count(&self, what: &Atomic) -> Outcome<usize> {
        let needed = [
            (&self.operands, what.operation() != AtomicOperation::Read),
            (&self.comparands, what.operation().compares()),
            (&self.result, what.fetches()),
        ];
        let mut counts = needed.into_iter().filter(|(_, is_needed)| *is_needed).map(|((_, count), _)| *count);
        let first = counts.next().unwrap_or(0);
        if counts.all(|count| count == first) { Ok(first) } else { Err(Errno(FI_EINVAL)) }
    }
}

/// The operation that a call describes.
fn operation(
    what: Atomic,
    (peer, address, key): (fi_addr_t, u64, u64),
    local: Local,
    (report, context): (Report, *mut c_void),
) -> Outcome<Operation> {
    let count = local.count(&what)?;
    let Local { operands: (operands, _), comparands: (comparands, _), result: (result, _) } = local;
    let (remote, context) = (Remote { key, address }, context_number(context));
    Ok(Operation { peer, remote, what, count, operands, comparands, result, report, context })
}

/// `count` elements of the type of `what` from `buffer` on. None where there is no buffer, as of a read.
fn array(what: &Atomic, buffer: *const c_void, count: usize) -> Outcome<(Payload, usize)> {
    let len = count.checked_mul(what.datatype().size() as usize).ok_or(Errno(FI_EINVAL))?;
    let is_missing = buffer.is_null() && what.operation() != AtomicOperation::Read;
    if is_missing && count > 0 { Err(Errno(FI_EINVAL)) } else { Ok((piece(buffer, len), count)) }
}

/// Posts an operation on `place` with the arrays of this side that `local` finds for it.
///
/// # Safety
/// As of [`on_endpoint`]; all buffers keep the contract.
unsafe fn start(
    ep: *mut fid_ep,
    (kind, datatype, op): (Call, Datatype, Op),
    place: (fi_addr_t, u64, u64),
    report: (Report, *mut c_void),
    local: impl FnOnce(&Atomic) -> Outcome<Local>,
) -> isize {
    let post = |endpoint: &Endpoint| {
        let what = kind.operation(datatype, op)?;
        let local = local(&what)?;
        endpoint.atomic(operation(what, place, local, report)?)
    };
    // SAFETY: the caller promises it.
    unsafe { on_endpoint(ep, post) }
}

/// An operation by its message structure, with the arrays that are not in it.
///
/// # Safety
/// `msg` is null or valid, with arrays of the lengths in it, and so are the arrays that `others` reads.
unsafe fn described(
    kind: Call,
    msg: *const fi_msg_atomic,
    flags: u64,
    others: impl FnOnce(&Atomic) -> Outcome<[(Payload, usize); 2]>,
) -> Outcome<Operation> {
    // SAFETY: the caller promises it.
    let msg = unsafe { msg.as_ref() }.ok_or(Errno(FI_EINVAL))?;
    if flags & (FI_FENCE | FI_COMMIT_COMPLETE | FI_REMOTE_CQ_DATA) != 0 {
        return Err(Errno(FI_EBADFLAGS));
    }
    if msg.rma_iov_count != 1 || msg.rma_iov.is_null() {
        return Err(Errno(FI_EINVAL));
    }
    let what = kind.operation(msg.datatype, msg.op)?;
    let [comparands, result] = others(&what)?;
    // SAFETY: the caller promises it; one entry, which is not null.
    let (operands, remote) = unsafe { (counted_pieces(&what, msg.msg_iov, msg.iov_count)?, &*msg.rma_iov) };
    let place = (msg.addr, remote.addr, remote.key);
    let report = (Report::Flags(flags), msg.context);
    let wanted = operation(what, place, Local { operands, comparands, result }, report)?;
    if wanted.count == remote.count { Ok(wanted) } else { Err(Errno(FI_EINVAL)) }
}

/// Defines functions that post an operation of a kind, with the arrays of this side that `$local` finds for `$what`.
macro_rules! starting {
    ($($kind:ident: $name:ident($($argument:tt: $type:ty),*) => |$what:ident| $local:expr;)*) => {$(
        unsafe extern "C" fn $name(
            ep: *mut fid_ep,
            $($argument: $type,)*
            dest: fi_addr_t,
            address: u64,
            key: u64,
            datatype: Datatype,
            op: Op,
            context: *mut c_void,
        ) -> isize {
            let (call, place, report) = ((Call::$kind, datatype, op), (dest, address, key), (Report::Default, context));
            // SAFETY: the contract: arrays of the given lengths, an open endpoint of ours.
            unsafe { start(ep, call, place, report, |$what: &Atomic| Ok($local)) }
        }
    )*};
}

starting! {
    Atomic: write(buffer: *const c_void, count: usize, _: Desc)
        => |what| Local { operands: array(what, buffer, count)?, ..Local::NOTHING };
    Atomic: writev(iov: *const fi_ioc, _: Descs, count: usize)
        => |what| Local { operands: counted_pieces(what, iov, count)?, ..Local::NOTHING };
    Fetch: readwrite(buffer: *const c_void, count: usize, _: Desc, result: *mut c_void, _: Desc)
        => |what| Local {
            operands: array(what, buffer, count)?,
            result: array(what, result, count)?,
            ..Local::NOTHING
        };
    Fetch: readwritev(iov: *const fi_ioc, _: Descs, count: usize, results: *mut fi_ioc, _: Descs, result_count: usize)
        => |what| Local {
            operands: counted_pieces(what, iov, count)?,
            result: counted_pieces(what, results, result_count)?,
            ..Local::NOTHING
        };
    Compare: compwrite(
        buffer: *const c_void, count: usize, _: Desc, compare: *const c_void, _: Desc, result: *mut c_void, _: Desc
    ) => |what| Local {
        operands: array(what, buffer, count)?,
        comparands: array(what, compare, count)?,
        result: array(what, result, count)?,
    };
    Compare: compwritev(
        iov: *const fi_ioc, _: Descs, count: usize, compares: *const fi_ioc, _: Descs, compare_count: usize,
        results: *mut fi_ioc, _: Descs, result_count: usize
    ) => |what| Local {
        operands: counted_pieces(what, iov, count)?,
        comparands: counted_pieces(what, compares, compare_count)?,
        result: counted_pieces(what, results, result_count)?,
    };
}

posting! {
    atomic: inject(
        buffer: *const c_void, count: usize, dest: fi_addr_t, address: u64, key: u64, datatype: Datatype, op: Op
    ) => injected(Call::Atomic.operation(datatype, op)?, (buffer, count), (dest, address, key))?;
    atomic: writemsg(msg: *const fi_msg_atomic, flags: u64)
        => described(Call::Atomic, msg, flags, |_| Ok([NONE, NONE]))?;
    atomic: readwritemsg(msg: *const fi_msg_atomic, results: *mut fi_ioc, _: Descs, count: usize, flags: u64)
        => described(Call::Fetch, msg, flags, |what| Ok([NONE, counted_pieces(what, results, count)?]))?;
    atomic: compwritemsg(
        msg: *const fi_msg_atomic, compares: *const fi_ioc, _: Descs, compare_count: usize, results: *mut fi_ioc,
        _: Descs, result_count: usize, flags: u64
    ) => described(Call::Compare, msg, flags, |what| {
        Ok([counted_pieces(what, compares, compare_count)?, counted_pieces(what, results, result_count)?])
    })?;
}

/// An operation for `inject`. Operands are always copied.
fn injected(what: Atomic, (buffer, count): (*const c_void, usize), place: (fi_addr_t, u64, u64)) -> Outcome<Operation> {
    let local = Local { operands: array(&what, buffer, count)?, ..Local::NOTHING };
    operation(what, place, local, (Report::Never, std::ptr::null_mut()))
}

/// Whether an endpoint has an operation, and of how many elements at most; for the kind of calls that `FLAGS` names.
unsafe extern "C" fn valid<const FLAGS: u64>(_: *mut fid_ep, datatype: Datatype, op: Op, most: *mut usize) -> c_int {
    call(|| {
        let what = kind_of(FLAGS)?.operation(datatype, op)?;
        // SAFETY: the contract: null or valid.
        let most = unsafe { most.as_mut() }.ok_or(Errno(FI_EINVAL))?;
        *most = Atomic::most(what.datatype()) as usize;
        Ok(())
    })
}

/// Whether a domain has an operation.
pub(super) unsafe extern "C" fn query(
    _: *mut fid_domain,
    datatype: Datatype,
    op: Op,
    attr: *mut fi_atomic_attr,
    flags: u64,
) -> c_int {
    call(|| {
        let what = kind_of(flags)?.operation(datatype, op)?.datatype();
        // SAFETY: the contract: null or valid.
        let attr = unsafe { attr.as_mut() }.ok_or(Errno(FI_EINVAL))?;
        *attr = fi_atomic_attr { count: Atomic::most(what) as usize, size: what.size() as usize };
        Ok(())
    })
}

/// The kind of calls that the flags of a query name.
fn kind_of(flags: u64) -> Outcome<Call> {
    match flags {
        0 => Ok(Call::Atomic),
        FI_FETCH_ATOMIC => Ok(Call::Fetch),
        FI_COMPARE_ATOMIC => Ok(Call::Compare),
        _ => Err(Errno(FI_EINVAL)),
    }
}
