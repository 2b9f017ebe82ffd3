//! Queries that need netlink (rtnetlink(7)): altnames and masters of interfaces, and routes.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::time::Duration;

use libc::{
    IFLA_ALT_IFNAME, IFLA_IFNAME, IFLA_MASTER, IFLA_PROP_LIST, NLM_F_DUMP, NLM_F_MULTI, NLM_F_REQUEST, NLMSG_DONE,
    NLMSG_ERROR, RTA_DST, RTA_GATEWAY, RTA_MULTIPATH, RTA_OIF, RTA_SRC, RTM_GETLINK, RTM_GETROUTE, RTM_GETRULE,
    RTM_NEWLINK, RTM_NEWROUTE, RTM_NEWRULE, RTN_UNICAST,
};
use socket2::{Domain, Protocol, Socket, Type};

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its altnames (`ip link property add altname`).
    pub altnames: Vec<String>,
    /// Number of the bridge or bond that it is a part of.
    pub master: Option<u32>,
}

/// The route of packets from one address to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Number of the interface.
    pub device: u32,
    /// The next hop; `None`: the destination is on the link.
    pub gateway: Option<IpAddr>,
}

const HEADER_LEN: usize = 16;
/// `struct ifinfomsg`.
const LINK_LEN: usize = 16;
/// `struct rtmsg`.
const ROUTE_LEN: usize = 12;
/// `struct fib_rule_hdr`.
const RULE_LEN: usize = 12;
/// Offset of the source's prefix length in it.
const RULE_SOURCE_LEN: usize = 2;
const FRA_SRC: u16 = 2;
/// Offset of the route's type in `struct rtmsg`.
const RTM_TYPE: usize = 7;
/// Flags in the type of an attribute: nested, or big-endian.
const FLAGS: u16 = 0xc000;
/// Timeout of an answer: the kernel answers at once.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest message of the kernel, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// All interfaces of this network namespace. Altnames are empty on kernels before 5.5, which have none.
pub fn links() -> io::Result<Vec<Link>> {
    let message = message(RTM_GETLINK, NLM_F_DUMP, &[0; LINK_LEN]);
    let mut links = Vec::new();
    ask(&message, |kind, body| {
        if kind == RTM_NEWLINK {
            links.extend(link(body));
        }
    })?;
    Ok(links)
}

/// The route from `source` to `remote`.
pub fn route(source: IpAddr, remote: IpAddr) -> io::Result<Route> {
    let [from, to] = [source, remote].map(octets);
    let mut body = family_of(remote.is_ipv4());
    (body[1], body[2]) = (8 * to.len() as u8, 8 * from.len() as u8);
    let body = [&body[..], &attribute(RTA_DST, &to), &attribute(RTA_SRC, &from)].concat();
    let mut found = None;
    ask(&message(RTM_GETROUTE, 0, &body), |kind, body| {
        if let Some(rest) = body.get(ROUTE_LEN..).filter(|_| kind == RTM_NEWROUTE) {
            found = Some(route_of(rest));
        }
    })?;
    found.ok_or_else(|| io::ErrorKind::NetworkUnreachable.into())
}

/// Numbers of the interfaces over which routes lead beyond their link.
pub fn routed_devices(is_ipv4: bool) -> io::Result<BTreeSet<u32>> {
    let mut devices = BTreeSet::new();
    each_route(is_ipv4, |_, list| devices.extend(devices_of(list)))?;
    Ok(devices)
}

/// Numbers of the interfaces of routes over several interfaces (equal-cost multipath).
pub fn multipath_devices(is_ipv4: bool) -> io::Result<BTreeSet<u32>> {
    let mut devices = BTreeSet::new();
    each_route(is_ipv4, |_, list| {
        let of_route: BTreeSet<u32> = devices_of(list).into_iter().collect();
        if of_route.len() > 1 {
            devices.extend(of_route);
        }
    })?;
    Ok(devices)
}

/// Destination networks of routes over `device` with a gateway, in all routing tables; at most `most`. Routes with several gateways
/// are left out, as the kernel may use any of these.
pub fn routed_networks(is_ipv4: bool, device: u32, most: usize) -> io::Result<BTreeSet<(IpAddr, u8)>> {
    let (mut networks, mut by_several) = (BTreeSet::new(), BTreeSet::new());
    each_route(is_ipv4, |prefix, list| {
        let has = |wanted: u16| attributes(list).any(|(kind, _)| kind == wanted);
        let found = match () {
            () if !devices_of(list).contains(&device) => return,
            () if has(RTA_MULTIPATH) => &mut by_several,
            () if has(RTA_GATEWAY) => &mut networks,
            () => return,
        };
        if found.len() < most {
            found.extend(prefixed(list, RTA_DST, is_ipv4, prefix));
        }
    })?;
    Ok(&networks - &by_several)
}

/// Source networks of routing rules (`ip rule from NETWORK table N`).
pub fn rule_sources(is_ipv4: bool) -> io::Result<BTreeSet<(IpAddr, u8)>> {
    let mut sources = BTreeSet::new();
    ask(&message(RTM_GETRULE, NLM_F_DUMP, &family_of(is_ipv4)), |kind, body| {
        if let (RTM_NEWRULE, Some(prefix @ 1..), Some(list)) =
            (kind, body.get(RULE_SOURCE_LEN).copied(), body.get(RULE_LEN..))
        {
            sources.extend(prefixed(list, FRA_SRC, is_ipv4, prefix));
        }
    })?;
    Ok(sources)
}

/// Calls `take` for every unicast route of all tables, with its destination's prefix length and its attributes.
fn each_route(is_ipv4: bool, mut take: impl FnMut(u8, &[u8])) -> io::Result<()> {
    ask(&message(RTM_GETROUTE, NLM_F_DUMP, &family_of(is_ipv4)), |kind, body| {
        if let (RTM_NEWROUTE, Some(&RTN_UNICAST), Some(list)) = (kind, body.get(RTM_TYPE), body.get(ROUTE_LEN..)) {
            take(body[1], list);
        }
    })
}

/// The start of a request for all routes or rules of a family; the rest of the structure is zero.
fn family_of(is_ipv4: bool) -> [u8; ROUTE_LEN] {
    let mut body = [0; ROUTE_LEN];
    body[0] = if is_ipv4 { libc::AF_INET } else { libc::AF_INET6 } as u8;
    body
}

/// The network in an attribute; all addresses, where there is none.
fn prefixed(list: &[u8], wanted: u16, is_ipv4: bool, prefix: u8) -> Option<(IpAddr, u8)> {
    let everywhere = if is_ipv4 { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) };
    match attributes(list).find(|(kind, _)| *kind == wanted) {
        Some((_, value)) => Some((ip_of(value)?, prefix)),
        None => Some((everywhere, 0)),
    }
}

fn ip_of(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = bytes.first_chunk::<4>().filter(|_| bytes.len() == 4).map(|bytes| IpAddr::from(*bytes));
    v4.or_else(|| bytes.first_chunk::<16>().map(|bytes| IpAddr::from(*bytes)))
}

/// The interfaces of a route; none of a route to link-local addresses.
fn devices_of(list: &[u8]) -> Vec<u32> {
    let number = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    let mut devices = Vec::new();
    for (kind, value) in attributes(list) {
        match kind {
            RTA_DST if value.len() == 16 && (value[0] == 0xff || value[0] == 0xfe && value[1] & 0xc0 == 0x80) => {
                return Vec::new();
            }
            RTA_OIF => devices.extend(number(value)),
            RTA_MULTIPATH => {
                let mut rest = value;
                // `struct rtnexthop`: its length, flags, the interface, and attributes.
                while let Some(device) = rest.get(4..).and_then(number) {
                    devices.push(device);
                    let len = usize::from(u16::from_ne_bytes([rest[0], rest[1]])).max(8);
                    rest = rest.get(aligned(len)..).unwrap_or_default();
                }
            }
            _ => {}
        }
    }
    devices
}

fn route_of(list: &[u8]) -> Route {
    let mut route = Route::default();
    for (kind, value) in attributes(list) {
        match kind {
            RTA_OIF => route.device = value.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes)),
            RTA_GATEWAY => route.gateway = ip_of(value),
            _ => {}
        }
    }
    route
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    [&(4 + value.len() as u16).to_ne_bytes(), &kind.to_ne_bytes(), value].concat()
}

fn message(kind: u16, flags: i32, body: &[u8]) -> Vec<u8> {
    let mut message = ((HEADER_LEN + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(((NLM_F_REQUEST | flags) as u16).to_ne_bytes());
    message.resize(HEADER_LEN, 0);
    message.extend(body);
    message
}

/// Sends a request, and calls `take` for every message of the answer, with its type.
fn ask(request: &[u8], mut take: impl FnMut(u16, &[u8])) -> io::Result<()> {
    let mut socket =
        Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW.cloexec(), Some(Protocol::from(libc::NETLINK_ROUTE)))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.write_all(request)?;
    let mut bytes = vec![0; MAX_BYTES];
    loop {
        let got = socket.read(&mut bytes)?;
        let mut rest = &bytes[..got];
        while let Some((header, _)) = rest.split_first_chunk::<HEADER_LEN>() {
            let len = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
            let [kind, flags] = [4, 6].map(|at| u16::from_ne_bytes([header[at], header[at + 1]]));
            let Some(body) = rest.get(HEADER_LEN..len) else { return Err(io::ErrorKind::InvalidData.into()) };
            match (i32::from(kind), body.first_chunk()) {
                (NLMSG_DONE, _) => return Ok(()),
                (NLMSG_ERROR, Some(errno)) => return Err(io::Error::from_raw_os_error(-i32::from_ne_bytes(*errno))),
                _ => take(kind, body),
            }
            if i32::from(flags) & NLM_F_MULTI == 0 {
                return Ok(());
            }
            rest = rest.get(aligned(len)..).unwrap_or_default();
        }
    }
}

fn link(body: &[u8]) -> Option<Link> {
    let index = u32::from_ne_bytes(*body.get(4..)?.first_chunk()?);
    let mut link = Link { index, ..Link::default() };
    for (kind, value) in attributes(body.get(LINK_LEN..)?) {
        match kind {
            IFLA_IFNAME => link.name = text(value),
            IFLA_MASTER => link.master = value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)),
            IFLA_PROP_LIST => {
                let names = attributes(value).filter(|(kind, _)| *kind == IFLA_ALT_IFNAME);
                link.altnames = names.map(|(_, name)| text(name)).collect();
            }
            _ => {}
        }
    }
    Some(link)
}

/// Attributes one behind the other, with their kinds.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let head = rest.first_chunk::<4>()?;
        let (len, kind) = (usize::from(u16::from_ne_bytes([head[0], head[1]])), u16::from_ne_bytes([head[2], head[3]]));
        let value = rest.get(4..len)?;
        rest = rest.get(aligned(len)..).unwrap_or_default();
        Some((kind & !FLAGS, value))
    })
}

fn aligned(len: usize) -> usize {
    len.next_multiple_of(4)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_number_one_and_belongs_to_nobody() {
        let links = links().unwrap();
        let lo = links.iter().find(|link| link.name == "lo").unwrap();
        assert_eq!((lo.index, lo.master), (1, None));
    }

    #[test]
    fn routes_are_found_and_missing_ones_are_errors() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(route(ip("127.0.0.1"), ip("127.0.0.2")).unwrap(), Route { device: 1, gateway: None });
        assert!(route(ip("203.0.113.1"), ip("127.0.0.1")).is_err(), "that is nobody's address here");
    }

    #[test]
    fn the_interfaces_of_a_route_with_several_ways() {
        let way = |device: u32| [&[8, 0, 0, 0][..], &device.to_ne_bytes()].concat();
        let several = attribute(RTA_MULTIPATH, &[way(3), way(7)].concat());
        assert_eq!(devices_of(&several), [3, 7]);
        let one = attribute(RTA_OIF, &5_u32.to_ne_bytes());
        assert_eq!(devices_of(&one), [5]);
        let of_link = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(devices_of(&[attribute(RTA_DST, &of_link), one].concat()), [0; 0]);
        assert!(routed_devices(true).is_ok() && devices_of(&attribute(RTA_MULTIPATH, &[1])).is_empty());
    }

    #[test]
    fn routes_and_rules_have_their_networks() {
        let to: [u8; 4] = [10, 1, 0, 0];
        let list = [attribute(RTA_DST, &to), attribute(RTA_OIF, &2_u32.to_ne_bytes())].concat();
        assert_eq!(prefixed(&list, RTA_DST, true, 16), Some((IpAddr::from(to), 16)));
        assert_eq!(prefixed(&list, RTA_SRC, true, 0), Some((IpAddr::from([0; 4]), 0)), "from anywhere");
        assert_eq!(prefixed(&attribute(RTA_DST, &to[..3]), RTA_DST, true, 16), None);
        assert!(rule_sources(true).unwrap().iter().all(|(_, prefix)| *prefix > 0), "not those of all sources");
        assert_eq!(routed_networks(true, u32::MAX, 9).unwrap().len(), 0, "there is no such interface");
    }

    #[test]
    fn a_truncated_message_ends_the_list() {
        assert_eq!(attributes(&[8, 0, 3, 0, b'l', b'o', 0, 0, 9, 0, 3]).count(), 1);
        assert_eq!(attributes(&[3, 0, 3, 0]).count(), 0);
        assert_eq!(link(&[0; 15]), None);
    }
}
