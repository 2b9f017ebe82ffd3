// Windows of messages from rank 0 to rank 1, each acknowledged.
#include "interval.h"
#include "session.h"
#include "stream.h"

static const struct program program = {
    .name = "bandwidth",
    .purpose = "windows of messages from rank 0 to rank 1, in MB/s (10^6 bytes/s)",
    .takes = OPTIONS_SWEEP | OPTION_BIT(OPTION_WINDOW) | OPTION_BIT(OPTION_INTERVAL)
        | OPTION_BIT(OPTION_DURATION),
    .default_sizes = "1:4M",
};

int main(int argc, char **argv)
{
    struct session session;
    session_start_pair(&session, &program, argc, argv);
    if (options_given(&session.options, OPTION_INTERVAL))
        interval_run(&session);
    else
        stream_run(&session, false);
    return session_finish();
}
