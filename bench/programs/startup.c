// From before MPI_Init to the end of a first MPI_Alltoall, and the memory and files that a rank has then.
#include "agreement.h"
#include "buffer.h"
#include "clock.h"
#include "record.h"
#include "report.h"

#include <dirent.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct program program = {
    .name = "startup",
    .purpose = "time from before MPI_Init to the end of a first MPI_Alltoall, in us",
    .takes = OPTION_BIT(OPTION_SEED) | OPTION_BIT(OPTION_JSON),
    .default_sizes = "64",
};

struct startup {
    size_t size; // bytes of a block of the MPI_Alltoall
    struct spread whole_us; // from before MPI_Init to the end of the MPI_Alltoall
    struct spread init_us; // of that, to the end of MPI_Init and of the agreement on options
    struct spread memory_bytes; // private memory of a rank in the end
    struct spread files; // open files of a rank in the end
};

// Each rank sends to each other a block of bytes that only the two know.
static unsigned char byte_of(const struct session *session, int source, int target)
{
    return (unsigned char)(session->options.seed + (uint64_t)source * 7 + (uint64_t)target * 13);
}

static void first_alltoall(const struct session *session, size_t size)
{
    size_t ranks = (size_t)session->ranks;
    unsigned char *send = allocate(ranks * size), *receive = allocate(ranks * size);
    for (int rank = 0; rank < session->ranks; rank++)
        memset(send + (size_t)rank * size, byte_of(session, session->rank, rank), size);
    MPI_Alltoall(send, (int)size, MPI_BYTE, receive, (int)size, MPI_BYTE, MPI_COMM_WORLD);
    for (int rank = 0; rank < session->ranks; rank++)
        for (size_t at = 0; at < size; at++)
            if (receive[(size_t)rank * size + at] != byte_of(session, rank, session->rank))
                session_abort(EXIT_WRONG_DATA, "wrong byte %zu of what rank %d sent", at, rank);
    free(send);
    free(receive);
}

// Private memory of this process (RssAnon), as Linux tells it; 0: not told.
static uint64_t private_memory(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    uint64_t kib = 0;
    if (status == NULL)
        return 0;
    while (fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "RssAnon: %" SCNu64, &kib) == 1)
            break;
    fclose(status);
    return kib * 1024;
}

// 0: not told.
static uint64_t open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint64_t count = 0;
    if (folder == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    // The folder itself was one of them.
    return count - 1;
}

static void start_line(const struct session *session, const struct startup *startup,
                       bool is_result)
{
    double mean = startup->whole_us.mean;
    struct summary once = {mean, mean, mean, mean, mean, mean, mean};
    struct record record = {
        .kind = is_result ? "result" : "startup",
        .metric = "latency",
        .unit = "us",
        .value = mean,
        .size = startup->size,
        .iterations = 1,
        .seconds = mean * 1e-6,
        .checked = true,
        .percentiles = is_result ? &once : NULL,
        .over_ranks = is_result ? &startup->whole_us : NULL,
        .repeat_values = &mean,
        .repeats = is_result ? 1 : 0,
    };
    record_start(session, &record);
}

static void print_field(const char *name, const struct spread *spread)
{
    printf(",\"%s\":{\"min\":%.9g,\"mean\":%.9g,\"max\":%.9g}", name, spread->min, spread->mean,
           spread->max);
}

static void print_json(const struct session *session, const struct startup *startup)
{
    start_line(session, startup, true);
    record_end();
    start_line(session, startup, false);
    print_field("init_us", &startup->init_us);
    print_field("memory_bytes", &startup->memory_bytes);
    print_field("files", &startup->files);
    record_end();
}

static void print_text(const struct session *session, const struct startup *startup)
{
    report_title(session, "From before MPI_Init to the end of a first MPI_Alltoall, mean over the ranks");
    printf("%-*s%*s%*s%*s\n", REPORT_SIZE_WIDTH, "# Size", REPORT_VALUE_WIDTH, "Latency (us)",
           REPORT_MORE_WIDTH, "Least rank", REPORT_MORE_WIDTH, "Greatest rank");
    printf("%-*zu%*.2f%*.2f%*.2f\n", REPORT_SIZE_WIDTH, startup->size, REPORT_VALUE_WIDTH,
           startup->whole_us.mean, REPORT_MORE_WIDTH, startup->whole_us.min, REPORT_MORE_WIDTH,
           startup->whole_us.max);
    printf("# MPI_Init and the broadcast of options: %.2f us (%.2f to %.2f)\n", startup->init_us.mean, startup->init_us.min,
           startup->init_us.max);
    printf("# private memory of a rank: %.1f MB (%.1f to %.1f)\n", startup->memory_bytes.mean / 1e6,
           startup->memory_bytes.min / 1e6, startup->memory_bytes.max / 1e6);
    printf("# open files of a rank: %.0f (%.0f to %.0f)\n", startup->files.mean, startup->files.min,
           startup->files.max);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct session session;
    double begun = clock_seconds();
    session_start(&session, &program, argc, argv);
    double initialized = clock_seconds();
    session_require_ranks(&session, session.ranks >= 2, "at least 2 ranks");
    size_t size = session.options.sizes[0];
    first_alltoall(&session, size);
    double ended = clock_seconds();
    uint64_t memory_bytes = private_memory(), files = open_files();

    struct startup startup = {
        .size = size,
        .whole_us = agreement_spread((ended - begun) * 1e6),
        .init_us = agreement_spread((initialized - begun) * 1e6),
        .memory_bytes = agreement_spread((double)memory_bytes),
        .files = agreement_spread((double)files),
    };
    if (session.rank == 0 && session.options.json)
        print_json(&session, &startup);
    else if (session.rank == 0)
        print_text(&session, &startup);
    return session_finish();
}
