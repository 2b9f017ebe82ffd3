"""Calls MPI by functions that it has looked up in the library: the path of the library, MPI_COMM_WORLD there, and what their
names begin with, if that is not MPI_."""

import ctypes
import sys

mpi = ctypes.CDLL(sys.argv[1])
try:
    world = ctypes.c_int(int(sys.argv[2], 16))
except ValueError:
    world = ctypes.byref(ctypes.c_char.in_dll(mpi, sys.argv[2]))
prefix = (sys.argv[3:] or ["MPI_"])[0]
begin, barrier, end = (getattr(mpi, prefix + name) for name in ("Init", "Barrier", "Finalize"))
begin(None, None)
for _ in range(100):
    barrier(world)
end()
print("all right")
