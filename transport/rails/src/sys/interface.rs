//! Facts of network interfaces. Queried by ioctl, which is about the network namespace of this process, while /sys/class/net may
//! show another one.

use std::cell::OnceCell;
use std::ffi::{CStr, c_char};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Facts of one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The kernel's number of it.
    pub index: u32,
    /// Enabled by the administrator.
    pub up: bool,
    /// Carrier present.
    pub running: bool,
    pub loopback: bool,
    /// Point to point (VPN tunnels).
    pub point_to_point: bool,
    /// Bytes.
    pub mtu: u32,
    /// Kernel driver: `veth`, `bridge`, `tun`, `mlx5_core`; empty where it does not say.
    pub driver: String,
    /// It is a device of a bus (PCI, USB), or bundles or divides such ones.
    pub is_physical: bool,
    /// Mbit/s, where the driver reports a meaningful value.
    pub speed_mbps: Option<u64>,
}

const ETHTOOL_GSET: u32 = 0x1;
const ETHTOOL_GDRVINFO: u32 = 0x3;
/// `SPEED_UNKNOWN` of linux/ethtool.h, in the width that `ethtool_cmd` holds it.
const SPEED_UNKNOWN: u32 = u32::MAX;

/// Column of /proc/net/dev, after the name.
const SENT_BYTES: usize = 8;

/// Drivers that report a constant, 10 Gbit/s and 10 Mbit/s, whatever their interfaces carry.
const MADE_UP: [&str; 2] = ["veth", "tun"];

/// `struct ethtool_cmd` of linux/ethtool.h.
#[repr(C)]
#[derive(Default)]
struct EthtoolCmd {
    cmd: u32,
    supported: u32,
    advertising: u32,
    speed: u16,
    duplex_to_mdio: [u8; 6],
    maxtxpkt: u32,
    maxrxpkt: u32,
    speed_hi: u16,
    eth_tp_mdix: [u8; 2],
    lp_advertising: u32,
    reserved: [u32; 2],
}

/// `struct ethtool_drvinfo` of linux/ethtool.h.
#[repr(C)]
struct EthtoolDrvinfo {
    cmd: u32,
    driver: [c_char; 32],
    version: [c_char; 32],
    fw_version: [c_char; 32],
    bus_info: [c_char; 32],
    rest: [u8; 64],
}

/// Drivers of interfaces that bundle or divide others.
const MADE_OF_OTHERS: [&str; 3] = ["bonding", "team", "802.1Q VLAN Support"];
/// Names that drivers give to the bus of a device without one.
const NO_BUS: [&str; 4] = ["", "N/A", "tap", "tun"];

/// Names of all interfaces, also of those without an address. Empty where /proc is not mounted.
pub fn names() -> Vec<String> {
    // Unlike /sys, it is always about this process's namespace.
    let table = std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_string())).collect()
}

/// The kernel's counters of all interfaces, from the time of the first query.
#[derive(Default)]
pub struct Counters(OnceCell<String>);

impl Counters {
    /// Bytes that an interface has sent, for all processes.
    pub fn sent_bytes(&self, name: &str) -> Option<u64> {
        let table = self.0.get_or_init(|| std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default());
        let mut rows = table.lines().filter_map(|line| line.split_once(':'));
        let (_, counts) = rows.find(|(row, _)| row.trim() == name)?;
        counts.split_whitespace().nth(SENT_BYTES)?.parse().ok()
    }
}

/// Queries the kernel about interface `name`.
pub fn facts(name: &str) -> io::Result<Facts> {
    let socket = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("[::1]:0"))?;
    let ask = |operation| {
        let mut request = request(name)?;
        ioctl(&socket, operation, &mut request).map(|()| request.ifr_ifru)
    };
    let (flags, index, mtu) = (ask(libc::SIOCGIFFLAGS)?, ask(libc::SIOCGIFINDEX)?, ask(libc::SIOCGIFMTU)?);
    // SAFETY: the kernel filled the member that belongs to each operation.
    let (flags, index, mtu) = unsafe { (i32::from(flags.ifru_flags), index.ifru_ifindex, mtu.ifru_mtu) };
    let (driver, bus) = driver(&socket, name).unwrap_or_default();
    let is_physical = !NO_BUS.contains(&bus.as_str()) || MADE_OF_OTHERS.contains(&driver.as_str());
    let speed_mbps = speed(&socket, name).ok().flatten().filter(|_| !MADE_UP.contains(&driver.as_str()));
    Ok(Facts {
        index: index.max(0) as u32,
        up: flags & libc::IFF_UP != 0,
        running: flags & libc::IFF_RUNNING != 0,
        loopback: flags & libc::IFF_LOOPBACK != 0,
        point_to_point: flags & libc::IFF_POINTOPOINT != 0,
        mtu: mtu.max(0) as u32,
        driver,
        is_physical,
        speed_mbps,
    })
}

/// The driver, and where the device is.
fn driver(socket: &UdpSocket, name: &str) -> io::Result<(String, String)> {
    let none = [0; 32];
    let mut info = EthtoolDrvinfo {
        cmd: ETHTOOL_GDRVINFO,
        driver: none,
        version: none,
        fw_version: none,
        bus_info: none,
        rest: [0; 64],
    };
    ethtool(socket, name, (&raw mut info).cast())?;
    let text = |mut field: [c_char; 32]| {
        field[31] = 0;
        // SAFETY: the array is owned and ends with the zero byte set above.
        unsafe { CStr::from_ptr(field.as_ptr()) }.to_string_lossy().into_owned()
    };
    Ok((text(info.driver), text(info.bus_info)))
}

fn speed(socket: &UdpSocket, name: &str) -> io::Result<Option<u64>> {
    let mut command = EthtoolCmd { cmd: ETHTOOL_GSET, ..Default::default() };
    ethtool(socket, name, (&raw mut command).cast())?;
    let mbps = u32::from(command.speed) | (u32::from(command.speed_hi) << 16);
    Ok(Some(u64::from(mbps)).filter(|_| mbps != 0 && mbps != SPEED_UNKNOWN))
}

fn ethtool(socket: &UdpSocket, name: &str, data: *mut c_char) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_data = data;
    ioctl(socket, libc::SIOCETHTOOL, &mut request)
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: ifreq is plain data; all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as c_char;
    }
    Ok(request)
}

fn ioctl(socket: &UdpSocket, operation: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: request is a valid ifreq; where the operation follows its data pointer, `ethtool`'s caller passed a
    // structure of the size that the command in its first word asks for.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), operation as _, request as *mut libc::ifreq) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_known() {
        let facts = facts("lo").unwrap();
        assert!(facts.loopback && facts.mtu > 0);
        assert!(names().contains(&"lo".to_string()));
    }

    #[test]
    fn bytes_sent_by_an_interface_are_counted() {
        let sent = || Counters::default().sent_bytes("lo").unwrap();
        let before = sent();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&[0; 1000], socket.local_addr().unwrap()).unwrap();
        assert!(sent() >= before + 1000);
        assert_eq!(Counters::default().sent_bytes("no-such-if"), None);
    }

    #[test]
    fn a_missing_interface_is_an_error() {
        assert!(facts("no-such-if").is_err());
        assert!(facts("a-name-that-is-too-long-for-linux").is_err());
    }
}
