//! `fi_getinfo`: converts hints from C, and the offer to C.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::ptr::null_mut;

use fishplate_rails::ADDRESS_LEN;
use ofi_abi::{FI_EINVAL, FI_ENOMEM, FI_FORMAT_UNSPEC, fi_domain_attr, fi_info};

use super::call;
use crate::environment;
use crate::errno::{Errno, Outcome};
use crate::info::{Answer, Blob, Hints, NAME, Request, answer};

/// Bytes of `fi_domain_attr` that every library's structure has.
const DOMAIN_ATTR_BEFORE_2_0: usize = offset_of!(fi_domain_attr, max_ep_auth_key);

/// Zero bytes behind every structure of an offer. A newer libfabric has longer structures, and copies them whole: zeros mean that
/// newer features are not offered.
const TAIL: usize = 128;

pub unsafe extern "C" fn getinfo(
    version: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const fi_info,
    info: *mut *mut fi_info,
) -> c_int {
    call(|| {
        if info.is_null() {
            return Err(Errno(FI_EINVAL));
        }
        // SAFETY: the contract: null or a structure of libfabric's, valid for the call.
        let hints = unsafe { read_hints(hints) };
        let names_address = !node.is_null() || !service.is_null();
        let answer = answer(&Request { version, flags, names_address, hints })?;
        answer.offers_progress(environment::settings()?.progress)?;
        let built = build(&answer)?;
        // SAFETY: not null; the contract makes it valid for a write.
        unsafe { info.write(built) };
        Ok(())
    })
}

/// Copies the relevant hints. Objects that hints refer to are ignored, as they may belong to other providers.
///
/// # Safety
/// `info` is null or a valid structure of libfabric's.
unsafe fn read_hints(info: *const fi_info) -> Option<Hints> {
    if info.is_null() {
        return None;
    }
    // SAFETY: the caller promises a valid structure, whose pointers to parts are null or valid; names are C strings.
    Some(unsafe {
        let info = &*info;
        let domain = info.domain_attr;
        let fabric = info.fabric_attr.as_ref();
        Hints {
            caps: info.caps,
            addr_format: info.addr_format,
            source: copy_address(info.src_addr, info.src_addrlen),
            dest: copy_address(info.dest_addr, info.dest_addrlen),
            tx: info.tx_attr.as_ref().copied(),
            rx: info.rx_attr.as_ref().copied(),
            ep: info.ep_attr.as_ref().copied(),
            domain: (!domain.is_null()).then(|| copy_domain(domain)),
            domain_name: if domain.is_null() { None } else { text((*domain).name) },
            fabric_name: fabric.and_then(|fabric| text(fabric.name)),
            provider_name: fabric.and_then(|fabric| text(fabric.prov_name)),
        }
    })
}

/// # Safety
/// `address` is null or has `len` bytes.
unsafe fn copy_address(address: *const c_void, len: usize) -> Option<Blob> {
    if address.is_null() {
        return None;
    }
    let mut blob = [0; ADDRESS_LEN];
    // SAFETY: not null; no more bytes are read than the caller promises, and no more written than there are.
    unsafe { std::ptr::copy_nonoverlapping(address.cast(), blob.as_mut_ptr(), len.min(ADDRESS_LEN)) };
    Some(blob)
}

/// The domain attributes, as far as a library before 2.0 has them; the rest is zero.
///
/// # Safety
/// `domain` points to such attributes of any library.
unsafe fn copy_domain(domain: *const fi_domain_attr) -> fi_domain_attr {
    let mut copy = MaybeUninit::<fi_domain_attr>::zeroed();
    // SAFETY: the source has at least the bytes copied, the copy is larger; integers and pointers may be zero.
    unsafe {
        std::ptr::copy_nonoverlapping(domain.cast::<u8>(), copy.as_mut_ptr().cast(), DOMAIN_ATTR_BEFORE_2_0);
        copy.assume_init()
    }
}

/// # Safety
/// `string` is null or a C string.
unsafe fn text(string: *const c_char) -> Option<String> {
    // SAFETY: not null, and the caller promises a C string.
    (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned())
}

/// The offer in C's memory: libfabric frees every part with `free`.
fn build(answer: &Answer) -> Outcome<*mut fi_info> {
    let mut parts = Parts(Vec::new());
    let (domain_name, fabric_name) = (parts.name()?, parts.name()?);
    let mut domain = answer.domain;
    domain.name = domain_name;
    let mut fabric = answer.fabric;
    fabric.name = fabric_name;
    let src_addr = parts.copy(answer.source)?;
    let dest_addr = answer.dest.map_or(Ok(null_mut()), |blob| parts.copy(blob))?;
    let info = fi_info {
        next: null_mut(),
        caps: answer.caps,
        mode: 0,
        addr_format: FI_FORMAT_UNSPEC,
        src_addrlen: answer.source.len(),
        dest_addrlen: answer.dest.map_or(0, |blob| blob.len()),
        src_addr: src_addr.cast(),
        dest_addr: dest_addr.cast(),
        handle: null_mut(),
        tx_attr: parts.copy(answer.tx)?,
        rx_attr: parts.copy(answer.rx)?,
        ep_attr: parts.copy(answer.ep)?,
        domain_attr: parts.copy(domain)?,
        fabric_attr: parts.copy(fabric)?,
        nic: null_mut(),
    };
    let info = parts.copy(info)?;
    parts.0.clear();
    Ok(info)
}

/// Parts allocated so far, freed if a later one fails.
struct Parts(Vec<*mut c_void>);

impl Parts {
    fn copy<T: Copy>(&mut self, value: T) -> Outcome<*mut T> {
        // SAFETY: `calloc` has no conditions.
        let part: *mut T = unsafe { libc::calloc(1, size_of::<T>() + TAIL) }.cast();
        if part.is_null() {
            return Err(Errno(FI_ENOMEM));
        }
        self.0.push(part.cast());
        // SAFETY: fresh memory of the right size, aligned for any type of C.
        unsafe { part.write(value) };
        Ok(part)
    }

    fn name(&mut self) -> Outcome<*mut c_char> {
        let name = CString::new(NAME).map_err(|_| Errno(FI_EINVAL))?;
        // SAFETY: a C string.
        let part = unsafe { libc::strdup(name.as_ptr()) };
        if part.is_null() {
            return Err(Errno(FI_ENOMEM));
        }
        self.0.push(part.cast());
        Ok(part)
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        for part in &self.0 {
            // SAFETY: from `calloc` or `strdup`, and not given away.
            unsafe { libc::free(*part) };
        }
    }
}
