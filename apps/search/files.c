#include "files.h"

#include <errno.h>
#include <string.h>

static FILE *open_to_read(const char *name, struct trouble *trouble)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL)
        trouble_note(trouble, "cannot read %s: %s", name, strerror(errno));
    return file;
}

// The next bytes; 0 at the end, and on an error, which is noted.
static size_t next(FILE *file, const char *name, char *bytes, size_t most, struct trouble *trouble)
{
    size_t count = fread(bytes, 1, most, file);
    if (ferror(file))
        trouble_note(trouble, "cannot read %s: %s", name, strerror(errno));
    return count;
}

void files_check(const char *name, struct trouble *trouble)
{
    FILE *file = open_to_read(name, trouble);
    if (file == NULL)
        return;
    char byte;
    if (next(file, name, &byte, 1, trouble) == 0)
        trouble_note(trouble, "%s is empty", name);
    fclose(file);
}

void files_check_absent(const char *name, struct trouble *trouble)
{
    FILE *file = name[0] != '\0' ? fopen(name, "rb") : NULL;
    if (file == NULL)
        return;
    trouble_note(trouble, "%s is already there, and is not overwritten", name);
    fclose(file);
}

void files_read(const char *name, struct text *text, struct trouble *trouble)
{
    FILE *file = open_to_read(name, trouble);
    if (file == NULL)
        return;
    char bytes[1 << 14];
    size_t count;
    while ((count = next(file, name, bytes, sizeof bytes, trouble)) > 0)
        text_append(text, bytes, count);
    if (text->count == 0)
        trouble_note(trouble, "%s is empty", name);
    fclose(file);
}

void files_make(const char *name, const struct text *text, struct trouble *trouble)
{
    FILE *file = fopen(name, "wbx");
    if (file == NULL) {
        trouble_note(trouble, "cannot make %s: %s", name, strerror(errno));
        return;
    }
    bool written = text == NULL || fwrite(text->bytes, 1, text->count, file) == text->count;
    if (fclose(file) != 0 || !written)
        trouble_note(trouble, "cannot write %s: %s", name, strerror(errno));
}
