// Windows of messages both ways at once.
#include "session.h"
#include "stream.h"

static const struct program program = {
    .name = "bibandwidth",
    .purpose = "windows of messages both ways at once between two ranks, in MB/s of both",
    .takes = OPTIONS_SWEEP | OPTION_BIT(OPTION_WINDOW),
    .default_sizes = "1:4M",
};

int main(int argc, char **argv)
{
    struct session session;
    session_start_pair(&session, &program, argc, argv);
    stream_run(&session, true);
    return session_finish();
}
