// MPI_Bcast from rank 0, one by one or in windows that every rank acknowledges.
#include "bcast_window.h"
#include "collective.h"
#include "verify.h"

static const struct program program = {
    .name = "bcast",
    .purpose = "time of MPI_Bcast from rank 0 in us, or bandwidth of windows of them in MB/s",
    .takes = COLLECTIVE_TAKES | OPTION_BIT(OPTION_BANDWIDTH) | OPTION_BIT(OPTION_WINDOW),
    .default_sizes = "1:1M",
};

static void run(struct collective *collective)
{
    MPI_Bcast(collective->receive.bytes, (int)collective->size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void prepare(struct collective *collective)
{
    struct content content = collective_content(collective, 0, 0);
    check_poison(collective->receive.bytes, &content);
    if (collective->session->rank == 0)
        check_fill(collective->receive.bytes, &content);
}

static void verify_received(struct collective *collective)
{
    struct content content = collective_content(collective, 0, 0);
    verify_content(collective->receive.bytes, &content, collective->iteration);
}

int main(int argc, char **argv)
{
    static const struct pattern pattern = {
        .method = "MPI_Bcast of so many bytes from rank 0, mean over the ranks",
        .run = run,
        .prepare = prepare,
        .verify = verify_received,
    };
    struct session session;
    session_start(&session, &program, argc, argv);
    if (session.options.bandwidth)
        bcast_window_run(&session);
    else
        collective_run(&session, &pattern);
    return session_finish();
}
