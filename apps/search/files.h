// Files that rank 0 alone reads or writes.
#ifndef FISHPLATE_APPS_FILES_H
#define FISHPLATE_APPS_FILES_H

#include "text.h"
#include "trouble.h"

// Whether there is something to read.
void files_check(const char *name, struct trouble *trouble);

// Whether there is none, so that it can be made. Without a name there is nothing to find.
void files_check_absent(const char *name, struct trouble *trouble);

// All of a file.
void files_read(const char *name, struct text *text, struct trouble *trouble);

// A file that is not there yet; NULL leaves it empty.
void files_make(const char *name, const struct text *text, struct trouble *trouble);

#endif
