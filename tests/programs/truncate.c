// Messages longer than their receives: MPI_ERR_TRUNCATE, nothing written beyond the buffer, and later messages whole.
#include "common.h"

enum { TAG = 5, ROOM = 100, GUARD = 64 };

static void expect_truncation(int error)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    expect(class == MPI_ERR_TRUNCATE, "a truncated receive ends with error class %d", class);
}

static void receive_truncated(size_t size, uint64_t key, bool expected)
{
    unsigned char *bytes = allocate(ROOM + GUARD);
    memset(bytes, 0xA5, ROOM + GUARD);
    if (expected) {
        MPI_Request request;
        MPI_Irecv(bytes, ROOM, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        expect_truncation(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Status status;
        MPI_Probe(0, TAG, MPI_COMM_WORLD, &status);
        expect(received(&status) == size, "a probe tells %zu bytes of %zu", received(&status), size);
        expect_truncation(MPI_Recv(bytes, ROOM, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    for (int i = ROOM; i < ROOM + GUARD; i++)
        expect(bytes[i] == 0xA5, "byte %d behind the buffer was written", i);
    unsigned char *whole = allocate(size);
    MPI_Recv(whole, (int)size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    verify(whole, size, key + 1);
    free(whole);
    free(bytes);
}

static void send_both(size_t size, uint64_t key)
{
    unsigned char *bytes = allocate(size);
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint64_t i = 0; i < 2; i++) {
        fill(bytes, size, key + i);
        int error = MPI_Send(bytes, (int)size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        expect(error == MPI_SUCCESS, "the sender of a truncated message gets error %d", error);
    }
    free(bytes);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    // Injected, eager, with a handshake, striped.
    static const size_t sizes[] = {ROOM + 1, 20000, 200000, 5000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int expected = 0; expected < 2; expected++) {
            uint64_t key = (i * 2 + (uint64_t)expected) * 2;
            if (rank_of(MPI_COMM_WORLD) == 0)
                send_both(sizes[i], key);
            else
                receive_truncated(sizes[i], key, expected != 0);
        }
    all_right();
}
