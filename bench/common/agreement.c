#include "agreement.h"

void agreement_slowest(MPI_Comm comm, double seconds[2])
{
    MPI_Allreduce(MPI_IN_PLACE, seconds, 2, MPI_DOUBLE, MPI_MAX, comm);
}

void agreement_slowest_of_all(void *state, double seconds[2])
{
    (void)state;
    agreement_slowest(MPI_COMM_WORLD, seconds);
}

void agreement_mean_of_all(void *state, double seconds[2])
{
    (void)state;
    struct spread spread = agreement_spread(seconds[0]);
    agreement_slowest(MPI_COMM_WORLD, seconds);
    seconds[0] = spread.mean;
}

struct spread agreement_spread(double value)
{
    // One reduction for the least as well: the least is the greatest of the negatives.
    double ends[2] = {-value, value}, sum = value;
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return (struct spread){-ends[0], sum / ranks, ends[1]};
}
