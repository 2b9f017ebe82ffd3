// What MPI-IO leaves to POSIX: folders, and the page cache behind a file.
#ifndef FISHPLATE_BENCH_IO_POSIX_H
#define FISHPLATE_BENCH_IO_POSIX_H

#include "io_access.h"

const char *io_posix_root(const struct io *io);
const char *io_posix_make_folder(struct io *io, const char *path);
const char *io_posix_remove_folder(struct io *io, const char *path);
const char *io_posix_open(struct io_file *file);
void io_posix_close(struct io_file *file);

#endif
