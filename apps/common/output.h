// The file of --output, which rank 0 writes.
#ifndef FISHPLATE_APPS_OUTPUT_H
#define FISHPLATE_APPS_OUTPUT_H

#include "trouble.h"

#include <stdio.h>

// All ranks call it. NULL on all but rank 0, and without a name. Ends the job with exit code 6
// when the file cannot be written, before work is done for it.
FILE *output_open(const struct session *session);

// The end of what was written.
void output_close(FILE *file, const struct session *session, struct trouble *trouble);

#endif
