// Threads that write and read records of one file, all at once; from one thread on.
#include "agreement.h"
#include "buffer.h"
#include "clock.h"
#include "io.h"
#include "io_content.h"
#include "random.h"
#include "rate.h"
#include "team.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdlib.h>

static const struct program program = {
    .name = "io_threads",
    .purpose = "1 to N threads write, then read records of one file, in MB/s of all",
    .takes = OPTIONS_CONTENT | OPTION_BIT(OPTION_SIZES) | OPTION_BIT(OPTION_THREADS)
        | OPTION_BIT(OPTION_FILE_SIZE) | OPTION_BIT(OPTION_ORDER),
    .default_sizes = "256K",
    .least_size = 1,
    .needs_threads = true,
};

// Of one thread.
struct reader {
    struct buffer buffer;
    struct random random;
    uint64_t next; // record of its part, in sequential order
};

struct threads {
    struct io *io;
    struct io_file file;
    bool writes;
    size_t size; // of a record
    uint64_t count; // threads of each rank
    uint64_t records; // of the file
    uint64_t iterations; // of the batch
    struct reader *readers;
};

// Number of a thread over all ranks.
static uint64_t number_of(const struct threads *threads, uint64_t member)
{
    return (uint64_t)threads->io->session->rank * threads->count + member;
}

// In sequential order each thread has a part of the file, from front to back and again; in
// random order all have the whole.
static uint64_t next_offset(struct threads *threads, uint64_t member)
{
    struct reader *reader = &threads->readers[member];
    uint64_t record;
    if (threads->io->session->options.order == ORDER_RANDOM) {
        record = random_below(&reader->random, threads->records);
    } else {
        uint64_t all = threads->count * (uint64_t)threads->io->session->ranks;
        uint64_t part = threads->records / all;
        record = number_of(threads, member) * part + reader->next++ % part;
    }
    return record * threads->size;
}

static void move_record(struct threads *threads, uint64_t member, uint64_t offset)
{
    struct io *io = threads->io;
    struct io_file *file = &threads->file;
    unsigned char *bytes = threads->readers[member].buffer.bytes;
    if (threads->writes) {
        io_expect(io, io->access->write(file, member, bytes, threads->size, offset), "write to",
                  file->path);
        io_sync(file);
    } else {
        io_expect(io, io->access->read(file, member, bytes, threads->size, offset), "read from",
                  file->path);
    }
    io_drop(file, offset, threads->size);
}

static double megabytes(const void *state, uint64_t iterations, double seconds)
{
    const struct threads *threads = state;
    uint64_t all = threads->count * (uint64_t)threads->io->session->ranks;
    return megabytes_per_second(threads->size, iterations * all, seconds);
}

// The contents are made and looked at outside of the clock.
static double run_record(struct threads *threads, uint64_t member)
{
    const struct options *options = &threads->io->session->options;
    unsigned char *bytes = threads->readers[member].buffer.bytes;
    uint64_t offset = next_offset(threads, member);
    if (options->check && threads->writes)
        io_content_fill(bytes, options->seed, offset, threads->size);
    else if (options->check)
        io_content_poison(bytes, options->seed, offset, threads->size);
    double start = clock_seconds();
    move_record(threads, member, offset);
    double seconds = clock_seconds() - start;
    if (options->check && !threads->writes)
        io_verify(&threads->file, bytes, offset, threads->size);
    return seconds;
}

static double run_member(void *state, uint64_t member, struct team *team)
{
    struct threads *threads = state;
    double seconds = 0.0;
    team_wait(team);
    for (uint64_t i = 0; i < threads->iterations; i++) {
        double once = run_record(threads, member);
        seconds += once;
        // Of one thread; the samples are as if all were as fast.
        if (threads->io->session->rank == 0)
            team_add(team, member, megabytes(threads, 1, once));
    }
    return seconds;
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct threads *threads = state;
    threads->iterations = count;
    MPI_Barrier(MPI_COMM_WORLD);
    return team_run(threads->count, run_member, threads, samples).slowest;
}

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    struct threads *threads = state;
    uint64_t seed = threads->io->session->options.seed;
    threads->size = size;
    threads->count = parameter;
    threads->records = threads->io->session->options.file_size / size;
    threads->readers = allocate(parameter * sizeof *threads->readers);
    for (uint64_t i = 0; i < parameter; i++) {
        struct reader *reader = &threads->readers[i];
        *reader = (struct reader){.random = random_stream(seed, number_of(threads, i))};
        buffer_create(&reader->buffer, size, 1);
        io_content_fill(reader->buffer.bytes, seed, 0, size);
    }
    return 0;
}

static void close_size(void *state)
{
    struct threads *threads = state;
    for (uint64_t i = 0; i < threads->count; i++)
        buffer_destroy(&threads->readers[i].buffer);
    free(threads->readers);
}

// Writes the whole file, each rank every so manieth piece: what is read is there, and what is
// written is written over something.
static void lay_out(struct threads *threads)
{
    enum { PIECE = 1 << 20 };
    struct io *io = threads->io;
    const struct options *options = &io->session->options;
    struct buffer buffer;
    buffer_create(&buffer, PIECE, 1);
    uint64_t step = (uint64_t)io->session->ranks * PIECE;
    for (uint64_t offset = (uint64_t)io->session->rank * PIECE; offset < options->file_size;
         offset += step) {
        uint64_t left = options->file_size - offset;
        size_t size = left < PIECE ? (size_t)left : PIECE;
        io_content_fill(buffer.bytes, options->seed, offset, size);
        io_expect(io, io->access->write(&threads->file, 0, buffer.bytes, size, offset),
                  "write to", threads->file.path);
    }
    buffer_destroy(&buffer);
    io_sync(&threads->file);
    io_drop(&threads->file, 0, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_records(const struct session *session)
{
    const struct options *options = &session->options;
    uint64_t all = options->threads * (uint64_t)session->ranks;
    for (uint64_t i = 0; i < options->size_count; i++)
        if (options->file_size / options->sizes[i] < all)
            session_refuse(session,
                           "--file-size: %zu; allowed with %" PRIu64 " threads in all: from %" PRIu64
                           " up, a record of %zu bytes for each",
                           options->file_size, all, all * options->sizes[i], options->sizes[i]);
}

int main(int argc, char **argv)
{
    struct benchmark benchmark = {
        .method = "Records of one file, by threads that do the same at once; of all threads",
        .parameter = "threads",
        .first = 1,
        .open = open_size,
        .batch = run_batch,
        .value = megabytes,
        .close = close_size,
        .agree = agreement_slowest_of_all,
    };
    struct session session;
    struct io io;
    struct threads threads = {.io = &io};
    io_guard();
    session_start(&session, &program, argc, argv);
    check_records(&session);
    benchmark.last = session.options.threads;
    size_t file_size = session.options.file_size;
    io_start(&io, &session, io_sizes(&session.options) | file_size, file_size);
    io_open(&io, &threads.file, "file");
    lay_out(&threads);
    io_sweep(&session, &benchmark, &threads, &threads.writes);
    io_close(&threads.file);
    return io_end(&io);
}
