//! Queries the kernel about an interface.

use anyhow::{Context, Result};
use nix::sys::socket::SockProtocol;

use crate::netlink::{self, Messages};

/// Bytes of `struct ifinfomsg`.
const INTERFACE_MESSAGE: usize = 16;
const IFLA_IFNAME: u16 = 3;

/// MTU of an interface in this thread's namespace.
pub fn mtu(interface: &str) -> Result<u32> {
    let socket = netlink::open(SockProtocol::NetlinkRoute)?;
    let mut request = Messages::default();
    let name = [interface.as_bytes(), &[0]].concat();
    request.begin(libc::RTM_GETLINK, 0, &[0; INTERFACE_MESSAGE]).attribute(IFLA_IFNAME, &name);
    let answer = netlink::query(&socket, &mut request).with_context(|| format!("no interface {interface}"))?;
    let mut attributes = netlink::messages(&answer)
        .flat_map(|message| netlink::attributes(message.body.get(INTERFACE_MESSAGE..).unwrap_or_default()));
    let mtu = attributes.find(|(kind, _)| *kind == libc::IFLA_MTU).and_then(|(_, value)| value.try_into().ok());
    mtu.map(u32::from_ne_bytes).with_context(|| format!("interface {interface} has no MTU"))
}
