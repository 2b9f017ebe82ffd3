#include "stress_report.h"

#include "buffer.h"
#include "report.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { TALLY_FIELDS = sizeof(struct tally) / sizeof(uint64_t) };

uint64_t peak_rss_bytes(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
#ifdef __APPLE__
    return (uint64_t)usage.ru_maxrss;
#else
    return (uint64_t)usage.ru_maxrss * 1024;
#endif
}

static void print_json(const struct session *session, const struct tally *tallies,
                       const struct tally *all, uint64_t rounds, double seconds, double value)
{
    bool single = rounds == 0;
    struct record record = {
        .kind = single ? "single" : "stress",
        .metric = single ? "bandwidth" : "message_rate",
        .unit = single ? "MB/s" : "1/s",
        .value = value,
        .size = single ? session->options.single : session->options.max_size,
        .iterations = all->received,
        .seconds = seconds,
        .checked = true,
    };
    record_start(session, &record);
    printf(",\"bytes\":%" PRIu64 ",\"rounds\":%" PRIu64 ",\"per_rank\":[", all->bytes_received,
           rounds);
    for (int rank = 0; rank < session->ranks; rank++) {
        const struct tally *tally = &tallies[rank];
        printf("%s{\"rank\":%d,\"sent\":%" PRIu64 ",\"received\":%" PRIu64
               ",\"bytes_sent\":%" PRIu64 ",\"bytes_received\":%" PRIu64
               ",\"peak_rss_bytes\":%" PRIu64 "}",
               rank == 0 ? "" : ",", rank, tally->sent, tally->received, tally->bytes_sent,
               tally->bytes_received, tally->peak_rss_bytes);
    }
    printf("]");
    record_end();
}

static void print_text(const struct session *session, const struct tally *tallies,
                       const struct tally *all, uint64_t rounds, double seconds, double value)
{
    report_title(session, rounds == 0 ? "One message, every byte checked"
                                      : "Messages of random sizes, every byte checked");
    printf("%-8s%12s%12s%16s%16s%16s\n", "# Rank", "Sent", "Received", "Bytes sent",
           "Bytes received", "Peak RSS (MB)");
    for (int rank = 0; rank < session->ranks; rank++) {
        const struct tally *tally = &tallies[rank];
        printf("%-8d%12" PRIu64 "%12" PRIu64 "%16" PRIu64 "%16" PRIu64 "%16.1f\n", rank,
               tally->sent, tally->received, tally->bytes_sent, tally->bytes_received,
               (double)tally->peak_rss_bytes / 1e6);
    }
    printf("# %" PRIu64 " messages, %" PRIu64 " bytes, %.3f s, %.2f %s, seed %" PRIu64
           ": all contents right\n",
           all->received, all->bytes_received, seconds, value,
           rounds == 0 ? "MB/s" : "messages/s", session->options.seed);
    fflush(stdout);
}

void stress_report(const struct session *session, const struct tally *tally, uint64_t rounds,
                   double seconds)
{
    struct tally *tallies = allocate((size_t)session->ranks * sizeof *tallies);
    MPI_Gather(tally, TALLY_FIELDS, MPI_UINT64_T, tallies, TALLY_FIELDS, MPI_UINT64_T, 0,
               MPI_COMM_WORLD);
    if (session->rank == 0) {
        struct tally all = {0};
        for (int rank = 0; rank < session->ranks; rank++) {
            all.received += tallies[rank].received;
            all.bytes_received += tallies[rank].bytes_received;
        }
        double amount = rounds == 0 ? (double)all.bytes_received / 1e6 : (double)all.received;
        double value = amount / seconds;
        if (session->options.json)
            print_json(session, tallies, &all, rounds, seconds, value);
        else
            print_text(session, tallies, &all, rounds, seconds, value);
    }
    free(tallies);
}
