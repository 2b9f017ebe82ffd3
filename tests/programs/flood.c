// Rank 1 floods rank 0, which receives nothing until all of it is posted. `flood SIZE COUNT LIMIT_MIB`: neither may
// need LIMIT_MIB beyond what it had, and messages of another tag, for which receives wait, get past the flood; then
// everything arrives, in order.
#include "common.h"

enum { FLOOD = 1, WORD = 2, WORDS = 5000 };
// Sends up to this size end at once: the provider copies them.
enum { INJECTED = 16 << 10 };

// Both make progress, as far as the flood can without receives.
static void exchange_words(int peer)
{
    for (int i = 0; i < WORDS; i++) {
        int word = -1;
        MPI_Sendrecv(&i, 1, MPI_INT, peer, WORD, &word, 1, MPI_INT, peer, WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(word == i, "word %d is %d", i, word);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect(argc == 4, "three arguments are needed");
    size_t size = strtoull(argv[1], NULL, 10);
    int count = atoi(argv[2]), rank = rank_of(MPI_COMM_WORLD);
    long limit_kib = atol(argv[3]) * 1024;
    unsigned char *bytes = allocate(size);
    MPI_Request *requests = allocate(sizeof *requests * (size_t)count);
    memset(bytes, 1, size);
    memset(requests, 0, sizeof *requests * (size_t)count);
    MPI_Barrier(MPI_COMM_WORLD);
    long before_kib = memory_kib("VmRSS:");
    if (rank == 1) {
        fill(bytes, size, 1);
        for (int i = 0; i < count; i++)
            MPI_Isend(bytes, (int)size, MPI_BYTE, 0, FLOOD, MPI_COMM_WORLD, &requests[i]);
        exchange_words(0);
        int done;
        MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
        expect(!done || size <= INJECTED, "all of the flood was taken without a receive");
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 0) {
        exchange_words(1);
        long grown_kib = memory_kib("VmRSS:") - before_kib;
        expect(grown_kib < limit_kib, "unexpected messages took %ld KiB", grown_kib);
        for (int i = 0; i < count; i++) {
            memset(bytes, 0, size);
            MPI_Recv(bytes, (int)size, MPI_BYTE, 1, FLOOD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            verify(bytes, size, 1);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    long peak_kib = memory_kib("VmHWM:") - before_kib;
    expect(peak_kib < limit_kib, "memory grew by %ld KiB", peak_kib);
    free(requests);
    free(bytes);
    all_right();
}
