// What rank 0 prints of how a job starts.
#ifndef FISHPLATE_BENCH_STARTUP_REPORT_H
#define FISHPLATE_BENCH_STARTUP_REPORT_H

#include "record.h"

struct startup {
    size_t size; // bytes of a block of the MPI_Alltoall
    struct spread whole_us; // from before MPI_Init to the end of the MPI_Alltoall
    struct spread init_us; // of that, to the end of MPI_Init and of the agreement on options
    struct spread memory_bytes; // private memory of a rank in the end
    struct spread files; // open files of a rank in the end
};

void startup_report(const struct session *session, const struct startup *startup);

#endif
