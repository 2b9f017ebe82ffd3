// What all programs that measure files share: a folder of the run, its files, its end.
#ifndef FISHPLATE_BENCH_IO_H
#define FISHPLATE_BENCH_IO_H

#include "io_access.h"
#include "sweep.h"

// What a program does before anything else: on signals the folder goes as well.
void io_guard(void);

// All sizes that are measured, or'ed.
uint64_t io_sizes(const struct options *options);

// Makes the folder of the run, and sees what can be done about the page cache. `places`: sizes
// and offsets of this rank's accesses, or'ed. All files take `needed` bytes.
void io_start(struct io *io, struct session *session, uint64_t places, uint64_t needed);
int io_end(struct io *io);

// The path of a file or folder in that of the run.
void io_name(const struct io *io, char path[IO_PATH_CAPACITY], const char *format, ...);

// Ends the job when `why` says that something went wrong; `what` is the beginning of a
// sentence that the path completes. The folder of the run is removed.
void io_expect(struct io *io, const char *why, const char *what, const char *path);

// Creates a file, which every rank opens.
void io_open(struct io *io, struct io_file *file, const char *name);
void io_close(struct io_file *file);

// With `cache drop`: what was written is with the file system when this returns.
void io_sync(struct io_file *file);

// The same: what was read or written is in this host's page cache no more. 0 bytes: all.
void io_drop(struct io_file *file, uint64_t offset, size_t size);

// Ends the job, with exit code 3, unless the content is that of its place.
void io_verify(struct io_file *file, const unsigned char *bytes, uint64_t offset, size_t size);

// Measures writing or reading: a sweep of what the operation asks for.
void io_sweep(const struct session *session, struct benchmark *benchmark, void *state,
              bool *writes);

#endif
