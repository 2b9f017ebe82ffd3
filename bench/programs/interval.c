#include "interval.h"

#include "buffer.h"
#include "idle.h"
#include "report.h"

#include <mpi.h>
#include <stdlib.h>

enum { TAG_HEADER = 1, TAG_DATA = 2, TAG_ACKNOWLEDGEMENT = 3, TAG_RECORD = 4 };
enum { SENDER = 0, RECEIVER = 1 };

// 64 of these pass a slow rail well within the shortest useful interval; with larger
// messages that advance side by side, a window would complete in one burst.
static const size_t default_size = (size_t)256 << 10;

// What the receiver tells of an interval, or of the whole run when it is the last.
struct progress_record {
    double end; // seconds since the start
    double seconds;
    double bytes;
    double last; // not 0: of the whole run
};

enum { PROGRESS_DOUBLES = 4 };

struct flow {
    const struct session *session;
    size_t size;
    int window;
    struct buffer buffer;
    MPI_Request *requests; // of a window, its header and its acknowledgement
    int *completed;
    struct progress_record incoming;
    MPI_Request incoming_request;
    bool over; // the record of the whole run has come
};

static void print_record(const struct flow *flow, const struct progress_record *times)
{
    const struct session *session = flow->session;
    bool last = times->last != 0.0;
    double value = times->bytes / times->seconds / 1e6;
    if (session->options.json) {
        struct record record = {
            .kind = last ? "interval_total" : "interval",
            .metric = "bandwidth",
            .unit = "MB/s",
            .value = value,
            .size = flow->size,
            .iterations = (uint64_t)(times->bytes / (double)flow->size),
            .seconds = times->seconds,
            .window = (uint64_t)flow->window,
            .parameter = "time",
            .parameter_value = times->end,
        };
        record_start(session, &record);
        record_end();
    } else if (last) {
        printf("# mean %.2f MB/s over %.2f s\n", value, times->seconds);
    } else {
        printf("%-*.2f%*.2f\n", REPORT_SIZE_WIDTH, times->end, REPORT_VALUE_WIDTH, value);
    }
    fflush(stdout);
}

static void print_header(const struct flow *flow)
{
    if (flow->session->options.json)
        return;
    char method[160];
    snprintf(method, sizeof method,
             "Windows of %d messages of %zu bytes one way; what arrived in each interval",
             flow->window, flow->size);
    report_title(flow->session, method);
    printf("%-*s%*s\n", REPORT_SIZE_WIDTH, "# Time (s)", REPORT_VALUE_WIDTH, "Bandwidth (MB/s)");
    fflush(stdout);
}

static void await_record(struct flow *flow)
{
    MPI_Irecv(&flow->incoming, PROGRESS_DOUBLES, MPI_DOUBLE, RECEIVER, TAG_RECORD, MPI_COMM_WORLD,
              &flow->incoming_request);
}

// Prints a record that has come.
static void poll_record(struct flow *flow)
{
    if (flow->over)
        return;
    int come;
    MPI_Test(&flow->incoming_request, &come, MPI_STATUS_IGNORE);
    if (!come)
        return;
    flow->over = flow->incoming.last != 0.0;
    print_record(flow, &flow->incoming);
    if (!flow->over)
        await_record(flow);
}

// Sends a window and waits for its acknowledgement, printing what the receiver reports
// meanwhile. The header says whether another window follows, so that the receiver knows
// without a message between windows.
static void send_window(struct flow *flow, bool last)
{
    int header = last, acknowledgement, requests = 0, done = 0;
    MPI_Irecv(&acknowledgement, 1, MPI_INT, RECEIVER, TAG_ACKNOWLEDGEMENT, MPI_COMM_WORLD,
              &flow->requests[requests++]);
    MPI_Isend(&header, 1, MPI_INT, RECEIVER, TAG_HEADER, MPI_COMM_WORLD,
              &flow->requests[requests++]);
    for (int i = 0; i < flow->window; i++)
        MPI_Isend(flow->buffer.bytes, (int)flow->size, MPI_BYTE, RECEIVER, TAG_DATA,
                  MPI_COMM_WORLD, &flow->requests[requests++]);
    for (;;) {
        MPI_Testall(requests, flow->requests, &done, MPI_STATUSES_IGNORE);
        poll_record(flow);
        if (done)
            return;
        idle_yield();
    }
}

static void run_sender(struct flow *flow)
{
    print_header(flow);
    await_record(flow);
    double start = MPI_Wtime();
    bool last;
    do {
        last = MPI_Wtime() - start >= flow->session->options.duration;
        send_window(flow, last);
    } while (!last);
    while (!flow->over) {
        poll_record(flow);
        idle_yield();
    }
}

// The receiver's count of what arrived.
struct progress {
    double start;
    double interval, duration;
    double next; // end of the interval, seconds since the start
    double reported; // end of the one before
    double bytes, bytes_reported;
};

static void send_record(const struct progress_record *record)
{
    MPI_Send(record, PROGRESS_DOUBLES, MPI_DOUBLE, SENDER, TAG_RECORD, MPI_COMM_WORLD);
}

// Reports an interval when its end has passed; by time, so that a stall is seen as zeros.
static void report_progress(struct progress *progress)
{
    double now = MPI_Wtime() - progress->start;
    // Sums of decimal fractions miss the duration by a rounding error.
    if (now < progress->next || progress->next > progress->duration * (1.0 + 1e-9))
        return;
    struct progress_record record = {now, now - progress->reported,
                            progress->bytes - progress->bytes_reported, 0.0};
    send_record(&record);
    progress->reported = now;
    progress->bytes_reported = progress->bytes;
    while (progress->next <= now)
        progress->next += progress->interval;
}

// Returns whether another window follows.
static bool receive_window(struct flow *flow, struct progress *progress)
{
    int header = 0, requests = 0;
    MPI_Irecv(&header, 1, MPI_INT, SENDER, TAG_HEADER, MPI_COMM_WORLD,
              &flow->requests[requests++]);
    for (int i = 0; i < flow->window; i++)
        MPI_Irecv(flow->buffer.bytes, (int)flow->size, MPI_BYTE, SENDER, TAG_DATA, MPI_COMM_WORLD,
                  &flow->requests[requests++]);
    for (int open = requests; open > 0;) {
        int count;
        MPI_Testsome(requests, flow->requests, &count, flow->completed, MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; i++)
            if (flow->completed[i] != 0) // 0 is the header
                progress->bytes += (double)flow->size;
        open -= count;
        report_progress(progress);
        if (count == 0)
            idle_yield();
    }
    int acknowledgement = 1;
    MPI_Send(&acknowledgement, 1, MPI_INT, SENDER, TAG_ACKNOWLEDGEMENT, MPI_COMM_WORLD);
    return header == 0;
}

static void run_receiver(struct flow *flow)
{
    const struct options *options = &flow->session->options;
    struct progress progress = {.start = MPI_Wtime(),
                                .interval = options->interval,
                                .duration = options->duration,
                                .next = options->interval};
    while (receive_window(flow, &progress))
        continue;
    double seconds = MPI_Wtime() - progress.start;
    struct progress_record whole = {seconds, seconds, progress.bytes, 1.0};
    send_record(&whole);
}

void interval_run(const struct session *session)
{
    const struct options *options = &session->options;
    struct flow flow = {.session = session, .window = (int)options->window};
    flow.size = options_given(options, OPTION_SIZES) ? options->sizes[0] : default_size;
    buffer_create(&flow.buffer, flow.size, 1);
    flow.requests = allocate((size_t)(flow.window + 2) * sizeof *flow.requests);
    flow.completed = allocate((size_t)(flow.window + 2) * sizeof *flow.completed);
    MPI_Barrier(MPI_COMM_WORLD);
    if (session->rank == SENDER)
        run_sender(&flow);
    else
        run_receiver(&flow);
    free(flow.requests);
    free(flow.completed);
    buffer_destroy(&flow.buffer);
}
