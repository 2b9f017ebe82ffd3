// What programs that call MPI-IO themselves need.
#ifndef FISHPLATE_BENCH_IO_MPI_H
#define FISHPLATE_BENCH_IO_MPI_H

#include "io_access.h"

#include <mpi.h>

MPI_File *io_mpi_handle(const struct io_file *file);

// Why a call failed that was to move so many bytes; NULL: it did not.
const char *io_mpi_done(int code, const MPI_Status *status, size_t size);

#endif
