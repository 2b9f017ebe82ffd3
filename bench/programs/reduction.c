#include "reduction.h"

#include "sum.h"
#include "verify.h"

int reduction_words(const struct collective *collective)
{
    return (int)(collective->size / sizeof(uint32_t));
}

void reduction_prepare(struct collective *collective)
{
    struct content own = collective_content(collective, collective->session->rank, 0);
    check_fill(collective->send.bytes, &own);
    check_poison(collective->receive.bytes, &own);
}

// Without the other ranks' parts the sum is this rank's own.
void reduction_verify(struct collective *collective)
{
    int rank = collective->session->rank;
    for (int other = 0; other < collective->session->ranks; other++) {
        struct content part = collective_content(collective, other, 0);
        if (other != rank)
            sum_subtract(collective->receive.bytes, &part);
    }
    struct content own = collective_content(collective, rank, 0);
    verify_content(collective->receive.bytes, &own, collective->iteration);
}
