#include "one_sided.h"

#include "one_sided_data.h"

// Where nothing is written, one place serves all operations, unless contents are checked.
static size_t slots_of(const struct one_sided *one_sided, bool written)
{
    return written || one_sided->session->options.check ? one_sided->count : 1;
}

void one_sided_open(struct one_sided *one_sided, const struct session *session,
                    enum one_sided_kind kind, uint64_t count, size_t size, int roles)
{
    *one_sided = (struct one_sided){.session = session,
                                    .kind = kind,
                                    .peer = 1 - session->rank,
                                    .size = size,
                                    .count = count};
    bool origin = (roles & ONE_SIDED_ORIGIN) != 0, target = (roles & ONE_SIDED_TARGET) != 0;
    size_t local = slots_of(one_sided, kind == ONE_SIDED_GET);
    size_t exposed = slots_of(one_sided, kind != ONE_SIDED_GET);
    buffer_create(&one_sided->local, size, origin ? local : 1);
    buffer_create(&one_sided->exposed, size, target ? exposed : 1);
    MPI_Aint bytes = (MPI_Aint)(one_sided->exposed.stride * one_sided->exposed.slots);
    MPI_Win_create(one_sided->exposed.bytes, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &one_sided->window);
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &one_sided->peer, &one_sided->peer_group);
    MPI_Group_free(&all);
}

void one_sided_close(struct one_sided *one_sided)
{
    MPI_Group_free(&one_sided->peer_group);
    MPI_Win_free(&one_sided->window);
    buffer_destroy(&one_sided->exposed);
    buffer_destroy(&one_sided->local);
}

void one_sided_ready(const struct one_sided *one_sided)
{
    if (one_sided->session->options.sync == SYNC_FENCE)
        MPI_Win_fence(0, one_sided->window);
    else
        MPI_Barrier(MPI_COMM_WORLD);
}

static void begin(const struct one_sided *one_sided, int roles)
{
    switch ((enum sync)one_sided->session->options.sync) {
    case SYNC_FENCE: // The fence before opened this epoch as well.
        break;
    case SYNC_PSCW:
        if ((roles & ONE_SIDED_TARGET) != 0)
            MPI_Win_post(one_sided->peer_group, 0, one_sided->window);
        if ((roles & ONE_SIDED_ORIGIN) != 0)
            MPI_Win_start(one_sided->peer_group, 0, one_sided->window);
        break;
    case SYNC_LOCK:
        if ((roles & ONE_SIDED_ORIGIN) != 0)
            MPI_Win_lock(MPI_LOCK_SHARED, one_sided->peer, 0, one_sided->window);
        break;
    }
}

static void complete(const struct one_sided *one_sided, int roles)
{
    switch ((enum sync)one_sided->session->options.sync) {
    case SYNC_FENCE:
        MPI_Win_fence(0, one_sided->window);
        break;
    case SYNC_PSCW:
        if ((roles & ONE_SIDED_ORIGIN) != 0)
            MPI_Win_complete(one_sided->window);
        if ((roles & ONE_SIDED_TARGET) != 0)
            MPI_Win_wait(one_sided->window);
        break;
    case SYNC_LOCK:
        if ((roles & ONE_SIDED_ORIGIN) != 0)
            MPI_Win_unlock(one_sided->peer, one_sided->window);
        break;
    }
}

static void issue(const struct one_sided *one_sided)
{
    const struct buffer *exposed = &one_sided->exposed;
    int bytes = (int)one_sided->size, words = bytes / (int)sizeof(uint32_t);
    int peer = one_sided->peer;
    size_t places = slots_of(one_sided, one_sided->kind != ONE_SIDED_GET);
    for (uint64_t slot = 0; slot < one_sided->count; slot++) {
        unsigned char *local = buffer_slot(&one_sided->local, slot);
        MPI_Aint place = (MPI_Aint)(slot % places * exposed->stride);
        switch (one_sided->kind) {
        case ONE_SIDED_PUT:
            MPI_Put(local, bytes, MPI_BYTE, peer, place, bytes, MPI_BYTE, one_sided->window);
            break;
        case ONE_SIDED_GET:
            MPI_Get(local, bytes, MPI_BYTE, peer, place, bytes, MPI_BYTE, one_sided->window);
            break;
        case ONE_SIDED_ACCUMULATE:
            MPI_Accumulate(local, words, MPI_UINT32_T, peer, place, words, MPI_UINT32_T, MPI_SUM,
                           one_sided->window);
            break;
        }
    }
}

double one_sided_run(struct one_sided *one_sided, int roles)
{
    bool check = one_sided->session->options.check;
    if (check) {
        one_sided_prepare(one_sided, roles);
        one_sided_ready(one_sided);
    }
    double start = MPI_Wtime();
    begin(one_sided, roles);
    if ((roles & ONE_SIDED_ORIGIN) != 0)
        issue(one_sided);
    complete(one_sided, roles);
    double seconds = MPI_Wtime() - start;
    if (check) {
        // With locks the target does not know otherwise that the origin is done.
        MPI_Barrier(MPI_COMM_WORLD);
        one_sided_verify(one_sided, roles);
    }
    one_sided->epoch++;
    return seconds;
}
