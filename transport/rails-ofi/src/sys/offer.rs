//! Offers of providers: domains and endpoints that lead out of this host.

use std::ffi::{CString, c_int, c_uint};
use std::ptr::{null, null_mut};

use ofi_abi::{
    FI_CONTEXT, FI_CONTEXT2, FI_EP_MSG, FI_EP_RDM, FI_LINK_DOWN, FI_LINK_UP, FI_MR_ALLOCATED, FI_MR_LOCAL,
    FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_MSG, FI_ORDER_SAS, FI_PROGRESS_MANUAL, FI_READ, FI_RECV, FI_REMOTE_READ,
    FI_RMA, FI_RX_CQ_DATA, FI_SEND, FI_SOURCE, FI_THREAD_DOMAIN, fi_info,
};

use super::{Error, Library, text};

/// Flag of `fi_getinfo`, between providers: includes those that FI_PROVIDER leaves out, which is set to this one.
const OFI_GETINFO_HIDDEN: u64 = 1 << 60;

/// Memory registration modes that are supported.
const MR_MODES: c_int = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

/// How an endpoint reaches peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointKind {
    /// All peers, by reliable datagrams (`FI_EP_RDM`).
    Datagram,
    /// One peer, to which it is connected (`FI_EP_MSG`).
    Connected,
}

/// The offer of a provider for one of its domains.
pub struct Offer {
    pub(super) library: Library,
    pub(super) info: Info,
    /// Type of the endpoints.
    pub kind: EndpointKind,
    /// Name of the provider.
    pub provider: String,
    /// Name of the fabric: domains of one fabric reach each other.
    pub fabric: String,
    /// Name of the domain: an adapter, or an interface.
    pub domain: String,
    /// Name of the adapter: the kernel's, where the provider gives it.
    pub device: String,
    /// Whether its adapter's link is up, where that is known.
    pub is_up: Option<bool>,
    /// Bits per second, where that is known.
    pub speed: Option<u64>,
}

/// Whether a provider is `wanted`, or is layered on top of it.
fn is_of(provider: &str, wanted: &str) -> bool {
    provider.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(';'))
}

/// An owned `fi_info`.
pub(super) struct Info {
    library: Library,
    info: *mut fi_info,
}

// SAFETY: the only owner of its memory.
unsafe impl Send for Info {}

impl Info {
    /// # Safety
    /// `info` is a structure that is not freed elsewhere.
    pub(super) unsafe fn new(library: &Library, info: *mut fi_info) -> Info {
        Info { library: *library, info }
    }

    /// A copy; of null, an empty one with all its parts.
    fn copy(library: &Library, info: *const fi_info) -> Result<Info, Error> {
        // SAFETY: null, or a live structure.
        let info = unsafe { (library.dupinfo)(info) };
        if info.is_null() {
            return Err(library.error("fi_dupinfo", ofi_abi::FI_ENOMEM));
        }
        Ok(Info { library: *library, info })
    }

    pub(super) fn as_ptr(&self) -> *mut fi_info {
        self.info
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { (self.library.freeinfo)(self.info) };
    }
}

/// Requirements for a provider.
fn hints(library: &Library, provider: &str, kind: EndpointKind) -> Result<Info, Error> {
    let name = CString::new(provider).map_err(|_| library.error("fi_getinfo", ofi_abi::FI_EINVAL))?;
    let hints = Info::copy(library, null())?;
    let info = hints.info;
    // SAFETY: a fresh structure with all its parts; the name is freed with it, by `free`.
    unsafe {
        (*info).caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_REMOTE_READ;
        (*info).mode = FI_CONTEXT | FI_CONTEXT2;
        match kind {
            EndpointKind::Datagram => {
                (*info).caps |= FI_SOURCE;
                (*(*info).ep_attr).type_ = FI_EP_RDM;
            }
            EndpointKind::Connected => {
                // Messages with immediate data use up receive buffers; none are sent.
                (*info).mode |= FI_RX_CQ_DATA;
                (*(*info).ep_attr).type_ = FI_EP_MSG;
            }
        }
        (*(*info).tx_attr).msg_order = FI_ORDER_SAS;
        (*(*info).rx_attr).msg_order = FI_ORDER_SAS;
        let domain = (*info).domain_attr;
        (*domain).mr_mode = MR_MODES;
        (*domain).threading = FI_THREAD_DOMAIN;
        (*domain).data_progress = FI_PROGRESS_MANUAL;
        (*domain).control_progress = FI_PROGRESS_MANUAL;
        (*(*info).fabric_attr).prov_name = libc::strdup(name.as_ptr());
    }
    Ok(hints)
}

impl Offer {
    /// The offers of `provider` that fit: reliable datagrams if it has them itself, else connections, else reliable datagrams of another
    /// provider on top of it. At least one offer.
    pub fn all(library: &Library, provider: &str) -> Result<Vec<Offer>, Error> {
        let of_datagrams = Offer::of_kind(library, provider, EndpointKind::Datagram);
        if of_datagrams.as_ref().is_ok_and(|offers| offers.iter().any(|offer| offer.provider == provider)) {
            return of_datagrams;
        }
        Offer::of_kind(library, provider, EndpointKind::Connected).or(of_datagrams)
    }

    /// The offers of one type of endpoints, with remote reads and ordered messages.
    pub fn of_kind(library: &Library, provider: &str, kind: EndpointKind) -> Result<Vec<Offer>, Error> {
        let hints = hints(library, provider, kind)?;
        let mut list = null_mut();
        // SAFETY: the contract; the provider's name keeps libfabric from asking this one.
        let returned = unsafe {
            (library.getinfo)(library.interface(), null(), null(), OFI_GETINFO_HIDDEN, hints.info, &raw mut list)
        };
        library.check("fi_getinfo", returned as isize)?;
        let mut offers = Vec::new();
        let mut next = list;
        while !next.is_null() {
            // SAFETY: an entry of the list, which lives until it is freed below.
            let (offer, behind) = unsafe { (Offer::copy(library, next, kind), (*next).next) };
            offers.extend(offer.filter(|offer| is_of(&offer.provider, provider)));
            next = behind;
        }
        // SAFETY: from `fi_getinfo`.
        unsafe { (library.freeinfo)(list) };
        if kind == EndpointKind::Connected || offers.iter().any(|offer| offer.provider == provider) {
            offers.retain(|offer| offer.provider == provider);
        }
        if offers.is_empty() { Err(library.error("fi_getinfo", ofi_abi::FI_ENODATA)) } else { Ok(offers) }
    }

    /// A copy with the address of a peer.
    pub(super) fn towards(&self, address: &[u8]) -> Result<Info, Error> {
        let copy = Info::copy(&self.library, self.info.as_ptr())?;
        // SAFETY: a structure with all its parts; the address is freed with it, by `free`.
        unsafe {
            let own = libc::malloc(address.len());
            if own.is_null() {
                return Err(self.library.error("fi_dupinfo", ofi_abi::FI_ENOMEM));
            }
            std::ptr::copy_nonoverlapping(address.as_ptr(), own.cast(), address.len());
            libc::free((*copy.info).dest_addr);
            ((*copy.info).dest_addr, (*copy.info).dest_addrlen) = (own, address.len());
        }
        Ok(copy)
    }

    /// # Safety
    /// `info` is an entry of a list that `fi_getinfo` has returned.
    unsafe fn copy(library: &Library, info: *mut fi_info, kind: EndpointKind) -> Option<Offer> {
        // SAFETY: entries of such lists have all parts but the adapter.
        unsafe {
            let copy = Info::copy(library, info).ok()?;
            let nic = (*info).nic.as_ref();
            let link = nic.and_then(|nic| nic.link_attr.as_ref());
            let up = |state: c_uint| match state {
                FI_LINK_UP => Some(true),
                FI_LINK_DOWN => Some(false),
                _ => None,
            };
            let domain = text((*(*info).domain_attr).name);
            let device = nic.and_then(|nic| nic.device_attr.as_ref()).map(|device| text(device.name));
            Some(Offer {
                library: *library,
                info: copy,
                kind,
                provider: text((*(*info).fabric_attr).prov_name),
                fabric: text((*(*info).fabric_attr).name),
                device: device.filter(|name| !name.is_empty()).unwrap_or_else(|| domain.clone()),
                domain,
                is_up: link.and_then(|link| up(link.state)),
                speed: link.map(|link| link.speed as u64).filter(|speed| *speed > 0),
            })
        }
    }

    pub(super) fn info(&self) -> &fi_info {
        // SAFETY: a live structure with all its parts.
        unsafe { &*self.info.as_ptr() }
    }

    /// Whether memory has to be registered before the adapter uses it.
    pub fn registers_memory(&self) -> bool {
        self.has_mr_mode(FI_MR_LOCAL | FI_MR_ALLOCATED)
    }

    /// Whether a memory registration mode is required.
    pub(super) fn has_mr_mode(&self, mode: c_int) -> bool {
        // SAFETY: as before.
        unsafe { (*self.info().domain_attr).mr_mode & mode != 0 }
    }

    /// Length of a key, in bytes.
    pub(super) fn key_len(&self) -> usize {
        // SAFETY: as before.
        unsafe { (*self.info().domain_attr).mr_key_size }
    }

    /// Bytes that are sent at once without a completion, at most.
    pub(super) fn inject_len(&self) -> usize {
        // SAFETY: as before.
        unsafe { (*self.info().tx_attr).inject_size }
    }
}
