// Many messages of random sizes between all ranks, with every byte checked.
#include "buffer.h"
#include "idle.h"
#include "session.h"
#include "stress_report.h"
#include "stress_round.h"
#include "stress_single.h"

#include <stdlib.h>

static const struct program program = {
    .name = "stress",
    .purpose = "messages of random sizes between all ranks, every byte checked",
    .takes = OPTION_BIT(OPTION_MESSAGES) | OPTION_BIT(OPTION_MAX_SIZE) | OPTION_BIT(OPTION_SINGLE)
        | OPTION_BIT(OPTION_SEED) | OPTION_BIT(OPTION_JSON),
    .default_sizes = NULL,
};

// A rank may be one round ahead of another, whose wildcards must not take messages of
// the later round: rounds take turns on two sets of communicators.
enum { TURNS = 2 };

struct stress {
    const struct session *session;
    struct plan *plans; // of every rank
    struct random random; // choices of this rank alone
    MPI_Comm comms[TURNS][GROUP_COUNT];
    MPI_Comm barrier_comm;
    MPI_Request finished[TURNS]; // the last round of the turn, on all ranks
    struct tally tally;
};

static void stress_open(struct stress *stress, const struct session *session)
{
    const struct options *options = &session->options;
    *stress = (struct stress){.session = session};
    // Beyond the streams of the plans, which are numbered by rank.
    stress->random = random_stream(options->seed, (UINT64_C(1) << 32) + (uint64_t)session->rank);
    stress->plans = allocate((size_t)session->ranks * sizeof *stress->plans);
    for (int rank = 0; rank < session->ranks; rank++)
        stress->plans[rank] = plan_start(options->seed, rank, session->ranks, options->messages,
                                         options->max_size);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int group = 0; group < GROUP_COUNT; group++)
            MPI_Comm_dup(MPI_COMM_WORLD, &stress->comms[turn][group]);
        stress->finished[turn] = MPI_REQUEST_NULL;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &stress->barrier_comm);
}

static void await(MPI_Request *request)
{
    int done;
    for (;;) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        idle_yield();
    }
}

static void stress_close(struct stress *stress)
{
    for (int turn = 0; turn < TURNS; turn++) {
        await(&stress->finished[turn]);
        for (int group = 0; group < GROUP_COUNT; group++)
            MPI_Comm_free(&stress->comms[turn][group]);
    }
    MPI_Comm_free(&stress->barrier_comm);
    free(stress->plans);
}

// Every rank goes through the plans of all, so it knows what it will receive, and when
// there is nothing left for anyone.
static bool plan_next(struct stress *stress, struct stress_round *round)
{
    int self = stress->session->rank;
    bool any = false;
    for (int rank = 0; rank < stress->session->ranks; rank++) {
        struct planned messages[PLAN_ROUND_MESSAGES];
        size_t count = plan_round(&stress->plans[rank], messages);
        any = any || count > 0;
        for (size_t i = 0; i < count; i++) {
            stress_round_add(round, &messages[i]);
            if (messages[i].source == self) {
                stress->tally.sent++;
                stress->tally.bytes_sent += messages[i].size;
            }
            if (messages[i].destination == self) {
                stress->tally.received++;
                stress->tally.bytes_received += messages[i].size;
            }
        }
    }
    return any;
}

static uint64_t run_rounds(struct stress *stress)
{
    struct stress_round round;
    stress_round_open(&round, stress->session, &stress->random);
    uint64_t number = 0;
    for (;; number++) {
        int turn = (int)(number % TURNS);
        await(&stress->finished[turn]);
        stress_round_clear(&round, number, stress->comms[turn]);
        if (!plan_next(stress, &round))
            break;
        stress_round_run(&round);
        MPI_Ibarrier(stress->barrier_comm, &stress->finished[turn]);
    }
    stress_round_close(&round);
    return number;
}

int main(int argc, char **argv)
{
    struct session session;
    session_start(&session, &program, argc, argv);
    session_require_ranks(&session, session.ranks >= 2, "at least 2 ranks");
    if (options_given(&session.options, OPTION_SINGLE)) {
        stress_single(&session);
        return session_finish();
    }
    struct stress stress;
    stress_open(&stress, &session);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    uint64_t rounds = run_rounds(&stress);
    stress_close(&stress);
    double seconds = MPI_Wtime() - start;
    stress.tally.peak_rss_bytes = peak_rss_bytes();
    stress_report(&session, &stress.tally, rounds, seconds);
    return session_finish();
}
