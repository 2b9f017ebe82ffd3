// Many messages of random sizes between all ranks, with every byte checked.
#include "buffer.h"
#include "idle.h"
#include "session.h"
#include "stress_report.h"
#include "stress_round.h"
#include "stress_single.h"

#include <math.h>
#include <stdlib.h>

static const struct program program = {
    .name = "stress",
    .purpose = "messages of random sizes between all ranks, every byte checked",
    .takes = OPTION_BIT(OPTION_MESSAGES) | OPTION_BIT(OPTION_DURATION)
        | OPTION_BIT(OPTION_MAX_SIZE) | OPTION_BIT(OPTION_SINGLE) | OPTION_BIT(OPTION_SEED)
        | OPTION_BIT(OPTION_JSON),
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
    double deadline; // MPI_Wtime of this rank, infinity without --duration
    MPI_Comm vote_comm;
    MPI_Request finished[TURNS]; // the last round of the turn, on all ranks
    int late[TURNS][2]; // when it ended: whether this rank's time was over, whether anyone's was
    struct tally tally;
};

static void stress_open(struct stress *stress, const struct session *session)
{
    const struct options *options = &session->options;
    *stress = (struct stress){.session = session, .deadline = INFINITY};
    uint64_t messages = options->messages;
    if (options_given(options, OPTION_DURATION)) {
        stress->deadline = MPI_Wtime() + options->duration;
        messages = UINT64_MAX;
    }
    // Beyond the streams of the plans, which are numbered by rank.
    stress->random = random_stream(options->seed, (UINT64_C(1) << 32) + (uint64_t)session->rank);
    stress->plans = allocate((size_t)session->ranks * sizeof *stress->plans);
    for (int rank = 0; rank < session->ranks; rank++)
        stress->plans[rank] = plan_start(options->seed, rank, session->ranks, messages,
                                         options->max_size);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int group = 0; group < GROUP_COUNT; group++)
            MPI_Comm_dup(MPI_COMM_WORLD, &stress->comms[turn][group]);
        stress->finished[turn] = MPI_REQUEST_NULL;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &stress->vote_comm);
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
    MPI_Comm_free(&stress->vote_comm);
    free(stress->plans);
}

// A round ends once all ranks have done with it, and have told each other whether time is over.
static void round_end(struct stress *stress, int turn)
{
    int *late = stress->late[turn];
    late[0] = MPI_Wtime() >= stress->deadline;
    MPI_Iallreduce(&late[0], &late[1], 1, MPI_INT, MPI_MAX, stress->vote_comm,
                   &stress->finished[turn]);
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
        if (stress->late[turn][1] || !plan_next(stress, &round))
            break;
        stress_round_run(&round);
        round_end(stress, turn);
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
