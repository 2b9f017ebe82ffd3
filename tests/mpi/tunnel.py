"""An end of a tunnel: what goes into a TUN device leaves as datagrams to the other end, as with a VPN."""

import fcntl
import select
import socket
import struct
import subprocess
import sys
from pathlib import Path

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
MTU = 1400
PORT = 5555


def main(ip, name, here, there, ready, *addresses):
    """Of the program `ip`: the device with its addresses; then carries until it is killed. `ready`: a file that says so."""
    device = open("/dev/net/tun", "r+b", buffering=0)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    way = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    way.bind((here, PORT))
    way.connect((there, PORT))
    for line in [f"link set {name} mtu {MTU} addrgenmode none up", *(f"address add {one} dev {name}" for one in addresses)]:
        subprocess.run([ip, *line.split(), *(["nodad"] if "address" in line and ":" in line else [])], check=True)
    Path(ready).touch()
    while True:
        for readable in select.select([device, way], [], [])[0]:
            try:
                if readable is device:
                    way.send(device.read(MTU))
                else:
                    device.write(way.recv(MTU))
            except ConnectionRefusedError:
                pass  # The other end is not there yet.


main(*sys.argv[1:])
