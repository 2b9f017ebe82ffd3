#include "verify.h"

#include "session.h"

#include <inttypes.h>

static _Noreturn void end(const struct content *content, uint64_t iteration,
                          const struct mismatch *wrong)
{
    session_abort(EXIT_WRONG_DATA,
                  "wrong data: source %d, size %zu, iteration %" PRIu64 ", message %" PRIu64
                  ", offset %zu: got 0x%02x, expected 0x%02x%s",
                  content->source, content->size, iteration, content->sequence, wrong->offset,
                  (unsigned)wrong->got, (unsigned)wrong->expected,
                  wrong->offset >= content->size ? " (past the end of the message)" : "");
}

void verify_content(const unsigned char *bytes, const struct content *content, uint64_t iteration)
{
    struct mismatch wrong;
    if (!check_compare(bytes, content, &wrong))
        end(content, iteration, &wrong);
}

void verify_block(const unsigned char *bytes, const struct content *content, uint64_t iteration)
{
    struct mismatch wrong;
    if (!check_compare_block(bytes, content, &wrong))
        end(content, iteration, &wrong);
}

void verify(const unsigned char *bytes, const struct content *content, uint64_t iteration,
            const MPI_Status *status)
{
    int received;
    MPI_Get_count(status, MPI_BYTE, &received);
    if (received < 0 || (size_t)received != content->size)
        session_abort(EXIT_WRONG_DATA,
                      "wrong length: source %d, iteration %" PRIu64 ", message %" PRIu64
                      ": got %d bytes, expected %zu",
                      content->source, iteration, content->sequence, received, content->size);
    verify_content(bytes, content, iteration);
}
