// Errors that one rank finds and all have to end for: files, mostly.
#ifndef FISHPLATE_APPS_TROUBLE_H
#define FISHPLATE_APPS_TROUBLE_H

#include "session.h"

enum { TROUBLE_CAPACITY = 1536 }; // a message with the name of a file in it

struct trouble {
    char text[TROUBLE_CAPACITY]; // empty: none
};

// Notes what has happened; only the first is kept.
void trouble_note(struct trouble *trouble, const char *format, ...);

bool trouble_is(const struct trouble *trouble);

// Whether no rank has any; all ranks call it. The first that has one prints it.
bool trouble_none(const struct session *session, const struct trouble *trouble);

// Ends the job with exit code 6 when a rank has one.
void trouble_end(const struct session *session, const struct trouble *trouble);

#endif
