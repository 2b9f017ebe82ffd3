#include "stress_single.h"

#include "buffer.h"
#include "idle.h"
#include "stress_report.h"
#include "verify.h"

enum { TAG_DATA = 1, TAG_ACKNOWLEDGEMENT = 2 };

static double send_single(const struct content *content)
{
    struct buffer buffer;
    buffer_create(&buffer, content->size, 1);
    check_fill(buffer.bytes, content);
    int acknowledgement;
    // The receiver is ready when it says so; its poisoning of the buffer is not timed.
    MPI_Recv(&acknowledgement, 1, MPI_INT, 1, TAG_ACKNOWLEDGEMENT, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    double start = MPI_Wtime();
    MPI_Send(buffer.bytes, (int)content->size, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD);
    MPI_Recv(&acknowledgement, 1, MPI_INT, 1, TAG_ACKNOWLEDGEMENT, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    double seconds = MPI_Wtime() - start;
    buffer_destroy(&buffer);
    return seconds;
}

static void receive_single(const struct content *content)
{
    struct buffer buffer;
    buffer_create(&buffer, content->size, 1);
    check_poison(buffer.bytes, content);
    int acknowledgement = 1;
    MPI_Status status;
    MPI_Send(&acknowledgement, 1, MPI_INT, 0, TAG_ACKNOWLEDGEMENT, MPI_COMM_WORLD);
    MPI_Recv(buffer.bytes, (int)content->size, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD, &status);
    MPI_Send(&acknowledgement, 1, MPI_INT, 0, TAG_ACKNOWLEDGEMENT, MPI_COMM_WORLD);
    verify(buffer.bytes, content, 0, &status);
    buffer_destroy(&buffer);
}

void stress_single(const struct session *session)
{
    struct content content = {session->options.seed, 0, 0, session->options.single};
    struct tally tally = {0};
    double seconds = 0.0;
    if (session->rank == 0) {
        seconds = send_single(&content);
        tally.sent = 1;
        tally.bytes_sent = content.size;
    } else if (session->rank == 1) {
        receive_single(&content);
        tally.received = 1;
        tally.bytes_received = content.size;
    }
    idle_until_all_done(MPI_COMM_WORLD);
    tally.peak_rss_bytes = peak_rss_bytes();
    stress_report(session, &tally, 0, seconds);
}
