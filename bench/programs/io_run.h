// The folder of a run: it goes when the run ends, however that is.
#ifndef FISHPLATE_BENCH_IO_RUN_H
#define FISHPLATE_BENCH_IO_RUN_H

#include "io_access.h"

#include <stdbool.h>

// Before anything else: signals that end a process wait for the folder's removal.
void io_run_guard(void);

// From here on the folder is removed when a signal comes.
void io_run_begin(struct io *io);

// Removes the folder, once; who calls it meanwhile waits. Why it could not; NULL: it is gone.
const char *io_run_remove(void);

// Does not return when the folder is being removed because of a signal.
void io_run_continue(void);

#endif
