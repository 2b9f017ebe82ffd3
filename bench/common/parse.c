#include "parse.h"

#include <stdlib.h>
#include <string.h>

// The longest size that makes sense is far shorter; longer text is malformed.
enum { PART_CAPACITY = 64 };

// Reads the digits at the start of text. Returns where they end, or NULL when there
// are none or the number does not fit.
static const char *read_digits(const char *text, uint64_t *number)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return NULL;
        value = value * 10 + digit;
    }
    if (at == text)
        return NULL;
    *number = value;
    return at;
}

bool parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *count)
{
    uint64_t value;
    const char *end = read_digits(text, &value);
    if (end == NULL || *end != '\0' || value < min || value > max)
        return false;
    *count = value;
    return true;
}

bool parse_image(const char *text, uint64_t min, uint64_t max, uint64_t *width, uint64_t *height)
{
    uint64_t columns;
    const char *end = read_digits(text, &columns);
    if (end == NULL || *end != 'x' || columns < min || columns > max
        || !parse_count(end + 1, min, max, height))
        return false;
    *width = columns;
    return true;
}

bool parse_seconds(const char *text, double min, double max, double *seconds)
{
    // strtod alone would also take blanks, signs, "inf", "nan" and hexadecimal.
    if (text[0] == '\0' || strspn(text, "0123456789.") != strlen(text))
        return false;
    char *end;
    double value = strtod(text, &end);
    if (*end != '\0' || !(value >= min && value <= max))
        return false;
    *seconds = value;
    return true;
}

// The shift a unit stands for, or -1 for an unknown unit.
static int unit_shift(const char *unit)
{
    if (*unit == '\0')
        return 0;
    int shift;
    switch (*unit) {
    case 'k':
    case 'K':
        shift = 10;
        break;
    case 'm':
    case 'M':
        shift = 20;
        break;
    case 'g':
    case 'G':
        shift = 30;
        break;
    default:
        return -1;
    }
    return unit[1] == '\0' || strcmp(unit + 1, "iB") == 0 ? shift : -1;
}

bool parse_size(const char *text, size_t max, size_t *size)
{
    uint64_t value;
    const char *unit = read_digits(text, &value);
    if (unit == NULL)
        return false;
    int shift = unit_shift(unit);
    if (shift < 0 || value > ((uint64_t)max >> shift))
        return false;
    *size = (size_t)(value << shift);
    return true;
}

// Appends the size or range in `part` to the list.
static bool append_part(char *part, size_t *sizes, size_t capacity, size_t *count)
{
    size_t first, last;
    char *colon = strchr(part, ':');
    if (colon != NULL)
        *colon = '\0';
    if (!parse_size(part, PARSE_MAX_SIZE, &first))
        return false;
    last = first;
    // Doubling from zero would never end, so a range starts at 1 or more.
    if (colon != NULL
        && (!parse_size(colon + 1, PARSE_MAX_SIZE, &last) || first == 0 || last < first))
        return false;
    do {
        if (*count == capacity)
            return false;
        sizes[(*count)++] = first;
        first *= 2;
    } while (first != 0 && first <= last);
    return true;
}

bool parse_size_list(const char *text, size_t *sizes, size_t capacity, size_t *count)
{
    *count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        char part[PART_CAPACITY];
        if (length == 0 || length >= sizeof part)
            return false;
        memcpy(part, text, length);
        part[length] = '\0';
        if (!append_part(part, sizes, capacity, count))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}
