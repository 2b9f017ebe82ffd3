#include "together.h"

#include "clock_offset.h"
#include "idle.h"

#include <mpi.h>

enum { EXCHANGES = 32, TAG_CLOCK = 1 };

// On rank 0: how far the clock of another rank is ahead. Tells that rank.
static struct clock_offset ask(int rank)
{
    struct clock_offset offset = CLOCK_OFFSET_UNKNOWN;
    // One more: the first finds the other rank asleep.
    for (int i = 0; i <= EXCHANGES; i++) {
        double there, sent = MPI_Wtime();
        MPI_Send(NULL, 0, MPI_BYTE, rank, TAG_CLOCK, MPI_COMM_WORLD);
        MPI_Recv(&there, 1, MPI_DOUBLE, rank, TAG_CLOCK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        clock_offset_add(&offset, sent, there, MPI_Wtime());
    }
    MPI_Send(&offset.seconds, 1, MPI_DOUBLE, rank, TAG_CLOCK, MPI_COMM_WORLD);
    return offset;
}

// On another rank: tells rank 0 the time when it asks. Returns what rank 0 makes of it.
static double answer(void)
{
    double ahead;
    for (int i = 0; i <= EXCHANGES; i++) {
        MPI_Request request;
        MPI_Irecv(NULL, 0, MPI_BYTE, 0, TAG_CLOCK, MPI_COMM_WORLD, &request);
        // The others may share processors with the two that talk.
        if (i == 0)
            idle_wait(&request);
        else
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        double now = MPI_Wtime();
        MPI_Send(&now, 1, MPI_DOUBLE, 0, TAG_CLOCK, MPI_COMM_WORLD);
    }
    MPI_Recv(&ahead, 1, MPI_DOUBLE, 0, TAG_CLOCK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return ahead;
}

static void compare_clocks(struct together *together)
{
    together->farthest = 0.0;
    together->ahead = together->session->rank == 0 ? 0.0 : answer();
    for (int rank = 1; together->session->rank == 0 && rank < together->session->ranks; rank++) {
        struct clock_offset offset = ask(rank);
        if (offset.round_trip > together->farthest)
            together->farthest = offset.round_trip;
    }
    idle_until_all_done(MPI_COMM_WORLD);
}

void together_begin(struct together *together, double seconds)
{
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    together->schedule = schedule_for(seconds);
    compare_clocks(together);
}

void together_agree(struct together *together)
{
    // The news takes some messages one way, one after the other. Where these are more, the
    // first start is late, and the interval grows until it is not.
    double news = 2.0 * together->farthest + together->schedule.interval;
    double first = MPI_Wtime() + news;
    MPI_Bcast(&first, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    together->schedule.first = first + together->ahead;
}

double together_wait(struct together *together, int start)
{
    double time = schedule_time(&together->schedule, start);
    double there = MPI_Wtime();
    idle_until(time);
    together->punctuality[start] =
        schedule_punctuality(&together->schedule, start, there, MPI_Wtime());
    return time;
}

int together_keep(struct together *together, double *samples, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, together->punctuality, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    schedule_adapt(&together->schedule, together->punctuality, count);
    return schedule_keep_punctual(samples, together->punctuality, count);
}
