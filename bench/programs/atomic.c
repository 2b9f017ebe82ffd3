// Atomic operations of all ranks but the last on words of 8 bytes of the last: two programs.
#include "agreement.h"
#include "buffer.h"
#include "compute.h"
#include "rate.h"
#include "session.h"
#include "sweep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum atomic_kind { ATOMIC_FETCH_AND_OP, ATOMIC_COMPARE_AND_SWAP };

// A word of the target is the number of operations that were done on it. So no operation is lost,
// and none is done twice, where each fetched what was there before it.
struct atomic {
    const struct session *session;
    enum atomic_kind kind;
    int target; // the last rank
    uint64_t window; // operations under way at a time
    uint64_t done; // operations of this rank
    uint64_t fetched; // sum of what they fetched
    uint64_t *old; // what was fetched, a word an operation of the window
    uint64_t *seen, *next; // compared with, and put in its place; those of compare_and_swap
    struct compute compute; // of the target
    MPI_Win window_of_words;
};

static bool is_target(const struct atomic *atomic)
{
    return atomic->session->rank == atomic->target;
}

// One word for all, or one for each operation of a window of each rank.
static uint64_t words_of(const struct atomic *atomic)
{
    return atomic->kind == ATOMIC_FETCH_AND_OP ? 1 : (uint64_t)atomic->target * atomic->window;
}

static uint64_t open_size(void *state, size_t size, uint64_t parameter)
{
    (void)size, (void)parameter;
    struct atomic *atomic = state;
    size_t bytes = atomic->window * sizeof(uint64_t);
    atomic->old = allocate(3 * bytes);
    atomic->seen = atomic->old + atomic->window;
    atomic->next = atomic->seen + atomic->window;
    memset(atomic->old, 0, 3 * bytes);
    atomic->done = atomic->fetched = 0;
    size_t own = is_target(atomic) ? words_of(atomic) * sizeof(uint64_t) : 0;
    void *words;
    MPI_Win_allocate((MPI_Aint)own, sizeof(uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &words,
                     &atomic->window_of_words);
    MPI_Win_lock_all(0, atomic->window_of_words);
    if (own > 0) {
        memset(words, 0, own);
        MPI_Win_sync(atomic->window_of_words);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return atomic->window;
}

static void issue(struct atomic *atomic, uint64_t slot)
{
    static const uint64_t one = 1;
    uint64_t *old = &atomic->old[slot];
    if (atomic->kind == ATOMIC_FETCH_AND_OP) {
        MPI_Fetch_and_op(&one, old, MPI_UINT64_T, atomic->target, 0, MPI_SUM,
                         atomic->window_of_words);
        return;
    }
    MPI_Aint word = (MPI_Aint)((uint64_t)atomic->session->rank * atomic->window + slot);
    atomic->next[slot] = atomic->seen[slot] + 1;
    MPI_Compare_and_swap(&atomic->next[slot], &atomic->seen[slot], old, MPI_UINT64_T,
                         atomic->target, word, atomic->window_of_words);
}

static void take(struct atomic *atomic, uint64_t slot)
{
    uint64_t old = atomic->old[slot];
    if (atomic->kind == ATOMIC_COMPARE_AND_SWAP && old != atomic->seen[slot])
        session_abort(EXIT_WRONG_DATA,
                      "word %" PRIu64 " is %" PRIu64 " after %" PRIu64 " swaps",
                      slot, old, atomic->seen[slot]);
    atomic->seen[slot]++;
    atomic->fetched += old;
    atomic->done++;
}

static double run_window(struct atomic *atomic)
{
    double start = MPI_Wtime();
    for (uint64_t slot = 0; slot < atomic->window; slot++)
        issue(atomic, slot);
    MPI_Win_flush(atomic->target, atomic->window_of_words);
    double seconds = MPI_Wtime() - start;
    for (uint64_t slot = 0; slot < atomic->window; slot++)
        take(atomic, slot);
    return seconds;
}

// The target is in MPI, or computes until it looks in again.
static void wait_for_others(struct atomic *atomic, MPI_Request *others)
{
    int done = 0;
    while (is_target(atomic) && !done && atomic->compute.seconds > 0) {
        compute_run(&atomic->compute, compute_next(&atomic->compute));
        MPI_Test(others, &done, MPI_STATUS_IGNORE);
    }
    MPI_Wait(others, MPI_STATUS_IGNORE);
}

static double value_us(const void *state, uint64_t iterations, double seconds)
{
    const struct atomic *atomic = state;
    return microseconds_each(iterations * atomic->window, seconds);
}

static double run_batch(void *state, uint64_t count, struct series *samples)
{
    struct atomic *atomic = state;
    double seconds = 0.0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint64_t i = 0; i < count && !is_target(atomic); i++) {
        double round = run_window(atomic);
        seconds += round;
        if (atomic->session->rank == 0)
            series_add(samples, value_us(atomic, 1, round));
    }
    MPI_Request others;
    MPI_Ibarrier(MPI_COMM_WORLD, &others);
    wait_for_others(atomic, &others);
    return seconds;
}

// Each word counts its operations, and they fetched 0, 1, 2 and so on.
static void verify(struct atomic *atomic)
{
    uint64_t mine[2] = {atomic->done, atomic->fetched}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    uint64_t words = words_of(atomic), each = all[0] / words;
    uint64_t expected = words * (each % 2 == 0 ? each / 2 * (each - 1) : (each - 1) / 2 * each);
    if (all[1] != expected)
        session_abort(EXIT_WRONG_DATA,
                      "%" PRIu64 " operations on %" PRIu64 " words fetched a sum of %" PRIu64
                      " instead of %" PRIu64,
                      all[0], words, all[1], expected);
}

static void close_size(void *state)
{
    struct atomic *atomic = state;
    verify(atomic);
    MPI_Win_unlock_all(atomic->window_of_words);
    MPI_Win_free(&atomic->window_of_words);
    free(atomic->old);
}

#define TAKES (OPTIONS_MEASURE | OPTION_BIT(OPTION_WINDOW) | OPTION_BIT(OPTION_COMPUTE))

static const struct program programs[] = {
    [ATOMIC_FETCH_AND_OP] = {
        .name = "fetch_and_op",
        .purpose = "time of one MPI_Fetch_and_op, a sum of 8 bytes on a word of the last rank, in us",
        .takes = TAKES,
        .default_sizes = "8",
        .default_window = 1,
    },
    // On words of each rank's own.
    [ATOMIC_COMPARE_AND_SWAP] = {
        .name = "compare_and_swap",
        .purpose = "time of one MPI_Compare_and_swap of 8 bytes on a word of the last rank, in us",
        .takes = TAKES,
        .default_sizes = "8",
        .default_window = 1,
    },
};

int main(int argc, char **argv)
{
    bool fetches = strcmp(programs[ATOMIC_FETCH_AND_OP].name, PROGRAM_NAME) == 0;
    enum atomic_kind kind = fetches ? ATOMIC_FETCH_AND_OP : ATOMIC_COMPARE_AND_SWAP;
    struct session session;
    session_start(&session, &programs[kind], argc, argv);
    session_require_ranks(&session, session.ranks >= 2, "at least 2 ranks");
    session.options.check = true;
    struct atomic atomic = {.session = &session,
                            .kind = kind,
                            .target = session.ranks - 1,
                            .window = session.options.window,
                            .compute = compute_create(&session.options, session.rank)};
    const struct benchmark benchmark = {
        SWEEP_LATENCY,
        .method = "Windows of atomic operations on words of the last rank; of the slowest rank",
        .open = open_size,
        .batch = run_batch,
        .value = value_us,
        .close = close_size,
        .agree = agreement_slowest_of_all,
    };
    sweep(&session, &benchmark, &atomic);
    return session_finish();
}
