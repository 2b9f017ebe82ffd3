#include "memory.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// What the system says it could give without swapping; all there is where it does not say.
static uint64_t available(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    if (file == NULL)
        return UINT64_MAX;
    char line[128];
    uint64_t kib, bytes = UINT64_MAX;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            bytes = kib << 10;
    fclose(file);
    return bytes;
}

void memory_require(const struct session *session, uint64_t bytes)
{
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, session->rank, MPI_INFO_NULL, &host);
    int rank, ranks;
    uint64_t needed;
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &ranks);
    MPI_Allreduce(&bytes, &needed, 1, MPI_UINT64_T, MPI_SUM, host);
    MPI_Comm_free(&host);
    int lacking = 0, any;
    if (rank == 0) {
        uint64_t there = available();
        lacking = needed > there;
        if (lacking)
            fprintf(stderr,
                    "%s: rank %d: no memory: %d rank%s of this host need%s %.0f MB; there are "
                    "%.0f MB\n",
                    session->program->name, session->rank, ranks, ranks == 1 ? "" : "s", ranks == 1 ? "s" : "",
                    (double)needed / 1e6, (double)there / 1e6);
    }
    MPI_Allreduce(&lacking, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!any)
        return;
    session_finish();
    exit(EXIT_MEMORY);
}
