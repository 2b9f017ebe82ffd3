#include "one_sided_data.h"

#include "sum.h"
#include "verify.h"

static struct content content_of(const struct one_sided *one_sided, int source, uint64_t slot)
{
    return (struct content){one_sided->session->options.seed, source,
                            one_sided->epoch * one_sided->count + slot, one_sided->size};
}

// A rank's own accesses to exposed memory are epochs too where the others use locks.
static void lock_own(const struct one_sided *one_sided)
{
    if (one_sided->session->options.sync == SYNC_LOCK)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, one_sided->session->rank, 0, one_sided->window);
}

static void unlock_own(const struct one_sided *one_sided)
{
    if (one_sided->session->options.sync == SYNC_LOCK)
        MPI_Win_unlock(one_sided->session->rank, one_sided->window);
}

static void prepare_slot(const struct one_sided *one_sided, int roles, uint64_t slot)
{
    struct content own = content_of(one_sided, one_sided->session->rank, slot);
    struct content peers = content_of(one_sided, one_sided->peer, slot);
    unsigned char *local = buffer_slot(&one_sided->local, slot);
    unsigned char *exposed = buffer_slot(&one_sided->exposed, slot);
    if ((roles & ONE_SIDED_ORIGIN) != 0 && one_sided->kind == ONE_SIDED_GET)
        check_poison(local, &peers);
    else if ((roles & ONE_SIDED_ORIGIN) != 0)
        check_fill(local, &own);
    if ((roles & ONE_SIDED_TARGET) != 0) {
        check_poison(exposed, &peers);
        if (one_sided->kind != ONE_SIDED_PUT)
            check_fill(exposed, &own);
    }
}

void one_sided_prepare(const struct one_sided *one_sided, int roles)
{
    lock_own(one_sided);
    for (uint64_t slot = 0; slot < one_sided->count; slot++)
        prepare_slot(one_sided, roles, slot);
    unlock_own(one_sided);
}

static void verify_slot(const struct one_sided *one_sided, int roles, uint64_t slot)
{
    struct content peers = content_of(one_sided, one_sided->peer, slot);
    unsigned char *local = buffer_slot(&one_sided->local, slot);
    unsigned char *exposed = buffer_slot(&one_sided->exposed, slot);
    if ((roles & ONE_SIDED_ORIGIN) != 0 && one_sided->kind == ONE_SIDED_GET)
        verify_content(local, &peers, one_sided->epoch);
    if ((roles & ONE_SIDED_TARGET) == 0)
        return;
    if (one_sided->kind == ONE_SIDED_PUT)
        verify_content(exposed, &peers, one_sided->epoch);
    if (one_sided->kind == ONE_SIDED_ACCUMULATE) {
        // Without what was there before it is what the peer added.
        struct content own = content_of(one_sided, one_sided->session->rank, slot);
        sum_subtract(exposed, &own);
        verify_content(exposed, &peers, one_sided->epoch);
    }
}

void one_sided_verify(const struct one_sided *one_sided, int roles)
{
    lock_own(one_sided);
    for (uint64_t slot = 0; slot < one_sided->count; slot++)
        verify_slot(one_sided, roles, slot);
    unlock_own(one_sided);
}
