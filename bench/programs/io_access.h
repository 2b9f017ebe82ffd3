// Ways to reach files: MPI-IO, POSIX, libnfs. What fails tells why, in words; NULL: all went well.
#ifndef FISHPLATE_BENCH_IO_ACCESS_H
#define FISHPLATE_BENCH_IO_ACCESS_H

#include "session.h"

#include <stdint.h>

// Names of files below a path that a user gave.
enum { IO_PATH_CAPACITY = OPTIONS_PATH_CAPACITY + 64 };

struct io {
    struct session *session;
    const struct io_access *access;
    char folder[IO_PATH_CAPACITY]; // of this run, as the access names it; all files are in it
    uint64_t needed; // bytes of them
    int cache; // enum cache
    void *connection; // of an access that has one
};

struct io_file {
    struct io *io;
    char path[IO_PATH_CAPACITY];
    int fd; // for the page cache, and for POSIX; -1: none
    void *own; // of the access
};

struct io_access {
    const char *name; // for people

    // What comes before the first file. NULL: nothing.
    const char *(*connect)(struct io *io);
    void (*disconnect)(struct io *io);

    // The folder of the user's path, as this access names it, without a slash at its end.
    const char *(*root)(const struct io *io);

    const char *(*make_folder)(struct io *io, const char *path);
    // With all that is in it. One that is not there is no error.
    const char *(*remove_folder)(struct io *io, const char *path);
    const char *(*create)(struct io *io, const char *path); // an empty file
    const char *(*stat)(struct io *io, const char *path);
    const char *(*remove)(struct io *io, const char *path);

    // Every rank opens the same file, which is there.
    const char *(*open)(struct io_file *file);
    void (*close)(struct io_file *file);

    // All of the bytes. Threads of a rank may do this at once; each has a number.
    const char *(*write)(struct io_file *file, uint64_t thread, const unsigned char *bytes,
                         size_t size, uint64_t offset);
    const char *(*read)(struct io_file *file, uint64_t thread, unsigned char *bytes, size_t size,
                        uint64_t offset);
};

extern const struct io_access io_mpi, io_posix, io_nfs;

// Why a read or a write ended early.
extern const char io_end_of_file[];

#endif
