// Time for what needs no MPI.
#ifndef FISHPLATE_BENCH_CLOCK_H
#define FISHPLATE_BENCH_CLOCK_H

// Seconds since some moment in the past; never steps back.
double clock_seconds(void);

#endif
