// Windows of operations between two ranks, each completed by one synchronisation: four programs.
#define _POSIX_C_SOURCE 200809L

#include "one_sided.h"

#include "agreement.h"
#include "rounds.h"
#include "window.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

struct bandwidth {
    struct rounds rounds;
    enum one_sided_kind kind;
    int roles; // of this rank
    struct one_sided one_sided;
};

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)parameter;
    struct bandwidth *bandwidth = state;
    const struct session *session = bandwidth->rounds.session;
    one_sided_open(&bandwidth->one_sided, session, bandwidth->kind, window_fitting(session, size),
                   size, bandwidth->roles);
    bandwidth->rounds.size = size;
    bandwidth->rounds.count = bandwidth->one_sided.count;
    return bandwidth->one_sided.count;
}

static void close_size(void *state)
{
    struct bandwidth *bandwidth = state;
    one_sided_close(&bandwidth->one_sided);
}

static double rate(const void *state, uint64_t iterations, double seconds)
{
    const struct bandwidth *bandwidth = state;
    return rounds_rate(&bandwidth->rounds, iterations, seconds);
}

static double run_round(void *state)
{
    struct bandwidth *bandwidth = state;
    return one_sided_run(&bandwidth->one_sided, bandwidth->roles);
}

// Both ranks' times count: an origin may be done before the last bytes are at the target.
static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct bandwidth *bandwidth = state;
    one_sided_ready(&bandwidth->one_sided);
    return rounds_batch(&bandwidth->rounds, count, samples, run_round, bandwidth);
}

// MPICH over a libfabric provider without remote memory access carries one-sided operations
// in messages. Where two beyond about 16 KiB are under way it overwrites the header of the
// second, and ends with a segmentation fault (5.0.2).
static const char explanation[] =
    "segmentation fault in MPI: MPICH over a libfabric provider without remote memory access has "
    "it where more than one operation of about 16 KiB or more is under way; --window 1 or smaller "
    "--sizes avoid it\n";

static void explain(int signal)
{
    ssize_t written = write(STDERR_FILENO, explanation, sizeof explanation - 1);
    (void)written; // nothing to be done about it here
    raise(signal); // with the default action again
}

// Such an end is explained on stderr from here on. Does nothing for other libraries.
static void explain_limit(const struct session *session)
{
    if (strncmp(session->mpi_library, "MPICH", strlen("MPICH")) != 0)
        return;
    struct sigaction action = {.sa_handler = explain, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
}

#define TAKES (OPTIONS_SWEEP | OPTION_BIT(OPTION_SYNC) | OPTION_BIT(OPTION_WINDOW))

static const struct {
    struct program program;
    enum one_sided_kind kind;
    bool both_ways; // if not, rank 0 is the origin
} programs[] = {
    {{.name = "put_bandwidth",
      .purpose = "windows of MPI_Put from rank 0 to rank 1, in MB/s",
      .takes = TAKES,
      .default_sizes = "1:4M"},
     ONE_SIDED_PUT, false},
    {{.name = "put_bibandwidth",
      .purpose = "windows of MPI_Put both ways at once, in MB/s of both",
      .takes = TAKES,
      .default_sizes = "1:4M"},
     ONE_SIDED_PUT, true},
    {{.name = "get_bandwidth",
      .purpose = "windows of MPI_Get of rank 0 from rank 1, in MB/s",
      .takes = TAKES,
      .default_sizes = "1:4M"},
     ONE_SIDED_GET, false},
    {{.name = "get_bibandwidth",
      .purpose = "windows of MPI_Get both ways at once, in MB/s of both",
      .takes = TAKES,
      .default_sizes = "1:4M"},
     ONE_SIDED_GET, true},
};

int main(int argc, char **argv)
{
    size_t at = 0;
    while (strcmp(programs[at].program.name, PROGRAM_NAME) != 0)
        at++;
    bool both_ways = programs[at].both_ways;
    struct session session;
    session_start_pair(&session, &programs[at].program, argc, argv);
    struct bandwidth bandwidth = {.rounds = {.session = &session, .both_ways = both_ways},
                                  .kind = programs[at].kind};
    bandwidth.roles = session.rank == 0 ? ONE_SIDED_ORIGIN : ONE_SIDED_TARGET;
    if (both_ways)
        bandwidth.roles = ONE_SIDED_ORIGIN | ONE_SIDED_TARGET;
    const struct benchmark benchmark = {
        SWEEP_BANDWIDTH,
        .method = both_ways ? "Windows of operations of both ranks at once, bytes of both"
                            : "Windows of operations of rank 0, each synchronised",
        .open = open_size,
        .batch = run_batch,
        .value = rate,
        .close = close_size,
        .agree = agreement_slowest_of_all,
    };
    explain_limit(&session);
    sweep(&session, &benchmark, &bandwidth);
    return session_finish();
}
