#define _GNU_SOURCE

#include "io.h"

#include "io_cache.h"
#include "io_content.h"
#include "io_run.h"
#include "option_specs.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct io_access *const accesses[] = {
    [ACCESS_MPIIO] = &io_mpi,
    [ACCESS_POSIX] = &io_posix,
    [ACCESS_NFS] = &io_nfs,
};

void io_guard(void)
{
    io_run_guard();
}

void io_expect(struct io *io, const char *why, const char *what, const char *path)
{
    if (why == NULL)
        return;
    io_run_continue();
    char text[256];
    snprintf(text, sizeof text, "%s", why); // what comes now may need its place
    io_run_remove();
    bool below = io->session->options.access == ACCESS_NFS && path[0] == '/';
    char all[64] = "";
    if (io->needed > 0)
        snprintf(all, sizeof all, " (the files take %" PRIu64 " bytes)", io->needed);
    session_abort(EXIT_FILE, "cannot %s %s%s: %s%s", what,
                  below ? io->session->options.path : "", path, text, all);
}

void io_name(const struct io *io, char path[IO_PATH_CAPACITY], const char *format, ...)
{
    int used = snprintf(path, IO_PATH_CAPACITY, "%s/", io->folder);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path + used, IO_PATH_CAPACITY - (size_t)used, format, arguments);
    va_end(arguments);
}

// Tells how much room there is before a file system is filled in vain.
static void expect_room(struct io *io)
{
    uint64_t room;
    const char *path = io->session->options.path;
    if (io->session->options.access == ACCESS_NFS || !cache_free_bytes(path, &room)
        || room >= io->needed)
        return;
    char why[128];
    snprintf(why, sizeof why, "%" PRIu64 " bytes are free there", room);
    io_expect(io, why, "have files in", path);
}

static int choose_cache(struct io *io, uint64_t places)
{
    const struct options *options = &io->session->options;
    bool asked = options_given(options, OPTION_CACHE), aligned = places % CACHE_ALIGNMENT == 0;
    if (options->access == ACCESS_NFS || !option_taken(io->session->program, OPTION_CACHE)
        || (!asked && cache_is_file_system(io->folder)))
        return CACHE_KEEP;
    if (asked && options->cache != CACHE_DIRECT)
        return options->cache;
    bool direct = aligned && options->access == ACCESS_POSIX && cache_can_bypass(io->folder);
    if (asked && !direct)
        io_expect(io,
                  aligned ? "the file system does not allow it; allowed: --cache drop or keep"
                          : "sizes and offsets are no multiples of 4096 bytes",
                  "bypass the page cache with --cache direct in", options->path);
    return direct ? CACHE_DIRECT : CACHE_DROP;
}

static const char *told_of_cache(const struct io *io)
{
    static const char *const done[] = {
        [CACHE_DIRECT] = "page cache bypassed (O_DIRECT)",
        [CACHE_DROP] = "page cache written back (fdatasync) and dropped (posix_fadvise)",
        [CACHE_KEEP] = "page cache kept",
    };
    if (io->session->options.access == ACCESS_NFS)
        return "nothing cached by the client";
    if (cache_is_file_system(io->folder))
        return "the page cache is the file system";
    if (!option_taken(io->session->program, OPTION_CACHE))
        return "names and attributes cached as usual";
    return done[io->cache];
}

static void describe(const struct io *io)
{
    struct session *session = io->session;
    char name[64] = "NFS";
    if (session->options.access != ACCESS_NFS)
        cache_name_file_system(io->folder, name, sizeof name);
    snprintf(session->transport, sizeof session->transport, "%s, %s; %s", io->access->name, name,
             told_of_cache(io));
}

// Only the first rank names and makes the folder; that tells the others nothing but its name.
static void make_folder(struct io *io, uint64_t places)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const char *root = io->access->root(io);
    size_t length = strlen(root);
    while (length > 0 && root[length - 1] == '/')
        length--;
    snprintf(io->folder, sizeof io->folder, "%.*s/fishplate-io-%ld-%lx", (int)length, root,
             (long)getpid(), (unsigned long)(now.tv_sec ^ now.tv_nsec));
    expect_room(io);
    io_expect(io, io->access->make_folder(io, io->folder), "make the folder", io->folder);
    io_run_begin(io);
    io->cache = choose_cache(io, places);
}

uint64_t io_sizes(const struct options *options)
{
    uint64_t bits = 0;
    for (uint64_t i = 0; i < options->size_count; i++)
        bits |= options->sizes[i];
    return bits;
}

void io_start(struct io *io, struct session *session, uint64_t places, uint64_t needed)
{
    *io = (struct io){.session = session, .needed = needed};
    io->access = accesses[session->options.access];
    if (io->access->connect != NULL)
        io_expect(io, io->access->connect(io), "reach", session->options.path);
    MPI_Allreduce(MPI_IN_PLACE, &places, 1, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD);
    if (session->rank == 0)
        make_folder(io, places);
    MPI_Bcast(io->folder, sizeof io->folder, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(&io->cache, 1, MPI_INT, 0, MPI_COMM_WORLD);
    // Whoever fails or is ended removes it.
    io_run_begin(io);
    // Told like what was given.
    session->options.cache = io->cache;
    session->options.given |= OPTION_BIT(OPTION_CACHE) | OPTION_BIT(OPTION_ACCESS);
    if (session->rank == 0)
        describe(io);
}

int io_end(struct io *io)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (io->session->rank == 0)
        io_expect(io, io_run_remove(), "remove", io->folder);
    MPI_Barrier(MPI_COMM_WORLD);
    if (io->access->disconnect != NULL)
        io->access->disconnect(io);
    return session_finish();
}

void io_open(struct io *io, struct io_file *file, const char *name)
{
    *file = (struct io_file){.io = io, .fd = -1};
    io_name(io, file->path, "%s", name);
    if (io->session->rank == 0)
        io_expect(io, io->access->create(io, file->path), "create", file->path);
    MPI_Barrier(MPI_COMM_WORLD);
    io_expect(io, io->access->open(file), "open (is it the same folder on all hosts?)",
              file->path);
}

void io_close(struct io_file *file)
{
    file->io->access->close(file);
}

void io_sync(struct io_file *file)
{
    if (file->io->cache == CACHE_DROP)
        io_expect(file->io, cache_sync(file->fd), "write to", file->path);
}

void io_drop(struct io_file *file, uint64_t offset, size_t size)
{
    if (file->io->cache == CACHE_DROP)
        cache_drop(file->fd, offset, size);
}

void io_verify(struct io_file *file, const unsigned char *bytes, uint64_t offset, size_t size)
{
    struct mismatch wrong;
    uint64_t seed = file->io->session->options.seed;
    if (io_content_compare(bytes, seed, offset, size, &wrong))
        return;
    io_run_remove();
    session_abort(EXIT_WRONG_DATA, "wrong data: %s, offset %zu: got 0x%02x, expected 0x%02x",
                  file->path, wrong.offset, (unsigned)wrong.got, (unsigned)wrong.expected);
}

void io_sweep(const struct session *session, struct benchmark *benchmark, void *state,
              bool *writes)
{
    int operation = session->options.operation;
    benchmark->unit = "MB/s";
    benchmark->decimals = 2;
    if (operation != OPERATION_READ) {
        *writes = true;
        benchmark->metric = "write_bandwidth";
        benchmark->column = "Write (MB/s)";
        sweep(session, benchmark, state);
    }
    if (operation != OPERATION_WRITE) {
        *writes = false;
        benchmark->metric = "read_bandwidth";
        benchmark->column = "Read (MB/s)";
        sweep(session, benchmark, state);
    }
}
