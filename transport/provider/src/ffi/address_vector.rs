//! The address vector object.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

use fishplate_rails::{ADDRESS_LEN, Address};
use ofi_abi::*;

use super::handle::{Close, DomainHandle, Handle, new_fid, table};
use super::memory::copy_text;
use super::{call, fid_ops, guard, refuse};
use crate::address_vector::AddressVector;
use crate::errno::{Errno, read_plain};

pub(super) type AddressVectorHandle = Handle<fid_av, AddressVector>;

impl Close for AddressVector {
    fn is_in_use(self: &Arc<Self>) -> bool {
        !read_plain(&self.endpoints).is_empty()
    }
}

pub(super) static FID_OPS: fi_ops = fi_ops { bind, ..fid_ops(AddressVectorHandle::close) };

static OPS: fi_ops_av = fi_ops_av {
    size: size_of::<fi_ops_av>(),
    insert,
    insertsvc,
    insertsym,
    remove,
    lookup,
    straddr,
    av_set,
    insert_auth_key,
    lookup_auth_key,
    set_user_id,
};

refuse! {
    insertsvc(*mut fid_av, *const c_char, *const c_char, *mut fi_addr_t, u64, *mut c_void) -> c_int;
    insertsym(*mut fid_av, *const c_char, usize, *const c_char, usize, *mut fi_addr_t, u64, *mut c_void) -> c_int;
    av_set(*mut fid_av, *mut c_void, *mut *mut c_void, *mut c_void) -> c_int;
    insert_auth_key(*mut fid_av, *const c_void, usize, *mut fi_addr_t, u64) -> c_int;
    lookup_auth_key(*mut fid_av, fi_addr_t, *mut c_void, *mut usize) -> c_int;
    set_user_id(*mut fid_av, fi_addr_t, fi_addr_t, u64) -> c_int;
}

pub unsafe extern "C" fn open(
    domain: *mut fid_domain,
    attr: *mut fi_av_attr,
    out: *mut *mut fid_av,
    context: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: the contract: null or valid attributes, into which the chosen type is written.
        let expected = match unsafe { attr.as_mut() } {
            None => 0,
            // Named vectors are shared between processes, events make inserting asynchronous.
            Some(attr) if !attr.name.is_null() || attr.flags & FI_EVENT != 0 => return Err(Errno(FI_ENOSYS)),
            Some(attr) if attr.type_ > FI_AV_TABLE || attr.rx_ctx_bits < 0 => return Err(Errno(FI_EINVAL)),
            Some(attr) => {
                if attr.type_ == FI_AV_UNSPEC {
                    attr.type_ = FI_AV_TABLE;
                }
                attr.count
            }
        };
        // SAFETY: the contract: an open domain of ours.
        let vector = Arc::new(AddressVector::new(expected, unsafe { DomainHandle::object(domain) }.clone()));
        let fid = new_fid(FI_CLASS_AV, context, &FID_OPS);
        // SAFETY: the contract: `out` is valid.
        unsafe { AddressVectorHandle::open(out, fid_av { fid, ops: table(&OPS) }, vector) }
    })
}

/// An event queue may be bound; inserting is synchronous and reports nothing there.
unsafe extern "C" fn bind(_: *mut fid, _: *mut fid, _: u64) -> c_int {
    0
}

unsafe extern "C" fn insert(
    av: *mut fid_av,
    blobs: *const c_void,
    count: usize,
    out: *mut fi_addr_t,
    flags: u64,
    context: *mut c_void,
) -> c_int {
    let sync_errors = flags & FI_SYNC_ERR != 0;
    let bad_flags = flags & !(FI_MORE | FI_SYNC_ERR) != 0 || (sync_errors && context.is_null());
    let Ok(most) = c_int::try_from(count) else { return -FI_EINVAL };
    if bad_flags || (blobs.is_null() && most > 0) {
        return -FI_EINVAL;
    }
    guard(-FI_EOTHER, || {
        // SAFETY: the contract: an open address vector of ours.
        let vector = unsafe { AddressVectorHandle::object(av) };
        let mut inserted = 0;
        for position in 0..count {
            // SAFETY: the contract: `count` addresses of the length that `getname` returns.
            let blob =
                unsafe { std::slice::from_raw_parts(blobs.cast::<u8>().add(position * ADDRESS_LEN), ADDRESS_LEN) };
            let result = vector.insert(blob);
            inserted += c_int::from(result.is_ok());
            let (index, error) = result.map_or_else(|errno| (FI_ADDR_NOTAVAIL, errno.0), |index| (index, 0));
            // SAFETY: the contract: `out` is null or has `count` entries; with FI_SYNC_ERR the context has as many
            // integers.
            unsafe {
                if !out.is_null() {
                    out.add(position).write(index);
                }
                if sync_errors {
                    context.cast::<c_int>().add(position).write(error);
                }
            }
        }
        inserted
    })
}

unsafe extern "C" fn remove(av: *mut fid_av, indices: *mut fi_addr_t, count: usize, flags: u64) -> c_int {
    call(|| {
        if flags != 0 || (indices.is_null() && count > 0) {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: the contract: an open address vector of ours.
        let vector = unsafe { AddressVectorHandle::object(av) };
        // SAFETY: the contract: `count` entries.
        (0..count).try_for_each(|position| vector.remove(unsafe { indices.add(position).read() }))
    })
}

unsafe extern "C" fn lookup(av: *mut fid_av, index: fi_addr_t, out: *mut c_void, len: *mut usize) -> c_int {
    call(|| {
        if len.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: the contract: an open address vector of ours.
        let vector = unsafe { AddressVectorHandle::object(av) };
        let blob = vector.get(index).ok_or(Errno(FI_EINVAL))?.encode();
        // SAFETY: the contract: `out` is null or has `*len` bytes; a short one gets the start.
        unsafe {
            if !out.is_null() {
                std::ptr::copy_nonoverlapping(blob.as_ptr(), out.cast(), ADDRESS_LEN.min(*len));
            }
            len.write(ADDRESS_LEN);
        }
        Ok(())
    })
}

unsafe extern "C" fn straddr(
    _: *mut fid_av,
    address: *const c_void,
    buffer: *mut c_char,
    len: *mut usize,
) -> *const c_char {
    guard(std::ptr::null(), || {
        if address.is_null() || buffer.is_null() || len.is_null() {
            return std::ptr::null();
        }
        // SAFETY: the contract: an address of the length that `getname` returns.
        let blob = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), ADDRESS_LEN) };
        let text = Address::decode(blob).map_or_else(|error| error.to_string(), |address| address.to_string());
        let text = CString::new(text).unwrap_or_default();
        // SAFETY: the contract: `buffer` has `*len` bytes.
        unsafe {
            copy_text(&text, buffer, *len);
            len.write(text.as_bytes_with_nul().len());
        }
        buffer.cast_const()
    })
}
