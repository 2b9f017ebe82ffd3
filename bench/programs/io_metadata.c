// Files without content: each rank creates, asks for and removes many.
#include "agreement.h"
#include "io.h"
#include "io_run.h"

#include <inttypes.h>
#include <mpi.h>

static const struct program program = {
    .name = "io_metadata",
    .purpose = "all ranks create, ask for (stat) and remove empty files, in files/s of all",
    .takes = OPTIONS_FILES,
    .default_sizes = "0",
};

// Files of a rank that are there at once: more than caches of names keep for nothing, few enough
// for any folder.
enum { FILES = 1000 };

struct metadata {
    struct io *io;
    int files_of; // the rank whose files this one asks for
    uint64_t next; // of those
    struct series *samples; // of the batch
};

typedef const char *work(struct io *io, const char *path);

static double files_per_second(const void *state, uint64_t iterations, double seconds)
{
    const struct metadata *metadata = state;
    return (double)iterations * metadata->io->session->ranks / seconds;
}

static double run_file(struct metadata *metadata, work *operation, const char *what, int rank,
                       uint64_t number)
{
    struct io *io = metadata->io;
    char path[IO_PATH_CAPACITY];
    io_run_continue();
    io_name(io, path, "rank%d/file%" PRIu64, rank, number);
    double start = MPI_Wtime();
    io_expect(io, operation(io, path), what, path);
    return MPI_Wtime() - start;
}

// Of one rank; the samples are as if all were as fast.
static void add_sample(struct metadata *metadata, double seconds)
{
    if (metadata->io->session->rank == 0)
        series_add(metadata->samples, files_per_second(metadata, 1, seconds));
}

static double each_file(struct metadata *metadata, work *operation, const char *what,
                        uint64_t count, bool measured)
{
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double once = run_file(metadata, operation, what, metadata->io->session->rank, i);
        seconds += once;
        if (measured)
            add_sample(metadata, once);
    }
    return seconds;
}

static double create_files(struct metadata *metadata, uint64_t count, bool measured)
{
    return each_file(metadata, metadata->io->access->create, "create", count, measured);
}

static double remove_files(struct metadata *metadata, uint64_t count, bool measured)
{
    return each_file(metadata, metadata->io->access->remove, "remove", count, measured);
}

// Runs `round` with at most FILES files each, until there were `count`.
static double in_rounds(struct metadata *metadata, uint64_t count, struct series *samples,
                        double (*round)(struct metadata *, uint64_t count))
{
    double seconds = 0.0;
    metadata->samples = samples;
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint64_t done = 0; done < count; done += FILES)
        seconds += round(metadata, count - done < FILES ? count - done : FILES);
    return seconds;
}

static double create_round(struct metadata *metadata, uint64_t count)
{
    double seconds = create_files(metadata, count, true);
    remove_files(metadata, count, false);
    return seconds;
}

static double remove_round(struct metadata *metadata, uint64_t count)
{
    create_files(metadata, count, false);
    return remove_files(metadata, count, true);
}

static double create_batch(void *state, uint64_t count, struct series *samples)
{
    return in_rounds(state, count, samples, create_round);
}

static double remove_batch(void *state, uint64_t count, struct series *samples)
{
    return in_rounds(state, count, samples, remove_round);
}

static double stat_round(struct metadata *metadata, uint64_t count)
{
    double seconds = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double once = run_file(metadata, metadata->io->access->stat, "ask for",
                               metadata->files_of, metadata->next++ % FILES);
        seconds += once;
        add_sample(metadata, once);
    }
    return seconds;
}

static double stat_batch(void *state, uint64_t count, struct series *samples)
{
    return in_rounds(state, count, samples, stat_round);
}

static uint64_t open_nothing(void *state, size_t size, uint64_t parameter)
{
    (void)state;
    (void)size;
    (void)parameter;
    return 0;
}

static void close_nothing(void *state)
{
    (void)state;
}

static uint64_t open_files(void *state, size_t size, uint64_t parameter)
{
    create_files(state, FILES, false);
    MPI_Barrier(MPI_COMM_WORLD);
    return open_nothing(state, size, parameter);
}

static void close_files(void *state)
{
    MPI_Barrier(MPI_COMM_WORLD);
    remove_files(state, FILES, false);
}

static void measure(struct metadata *metadata)
{
    struct benchmark benchmark = {
        .unit = "1/s",
        .method = "Empty files in a folder of each rank, all ranks at once; of all ranks",
        .value = files_per_second,
        .agree = agreement_slowest_of_all,
        .open = open_nothing,
        .close = close_nothing,
        .metric = "create_rate",
        .column = "Create (1/s)",
        .batch = create_batch,
    };
    sweep(metadata->io->session, &benchmark, metadata);
    benchmark.metric = "stat_rate";
    benchmark.column = "Stat (1/s)";
    benchmark.batch = stat_batch;
    benchmark.open = open_files;
    benchmark.close = close_files;
    sweep(metadata->io->session, &benchmark, metadata);
    benchmark.metric = "remove_rate";
    benchmark.column = "Remove (1/s)";
    benchmark.batch = remove_batch;
    benchmark.open = open_nothing;
    benchmark.close = close_nothing;
    sweep(metadata->io->session, &benchmark, metadata);
}

int main(int argc, char **argv)
{
    struct session session;
    struct io io;
    io_guard();
    session_start(&session, &program, argc, argv);
    io_start(&io, &session, 0, 0);
    struct metadata metadata = {.io = &io, .files_of = (session.rank + 1) % session.ranks};
    char folder[IO_PATH_CAPACITY];
    io_name(&io, folder, "rank%d", session.rank);
    io_expect(&io, io.access->make_folder(&io, folder), "make the folder", folder);
    measure(&metadata);
    return io_end(&io);
}
