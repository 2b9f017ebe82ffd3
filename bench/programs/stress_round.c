#include "stress_round.h"

#include "buffer.h"
#include "idle.h"
#include "verify.h"

#include <inttypes.h>
#include <stdlib.h>

// One send in so many is synchronous, which asks for a receipt.
enum { SYNCHRONOUS_SHARE = 16 };

void stress_round_open(struct stress_round *round, const struct session *session,
                       struct random *random)
{
    size_t most = (size_t)session->ranks * PLAN_ROUND_MESSAGES;
    *round = (struct stress_round){.session = session, .random = random};
    round->expected = allocate(most * sizeof *round->expected);
    round->taken = allocate(most * sizeof *round->taken);
    round->to_post = allocate(most * sizeof *round->to_post);
    round->to_probe = allocate(most * sizeof *round->to_probe);
    round->incoming = allocate(most * sizeof *round->incoming);
    // The sends of this rank come from the place its receives from itself leave free.
    round->requests = allocate(most * sizeof *round->requests);
    round->statuses = allocate(most * sizeof *round->statuses);
}

void stress_round_close(struct stress_round *round)
{
    free(round->expected);
    free(round->taken);
    free(round->to_post);
    free(round->to_probe);
    free(round->incoming);
    free(round->requests);
    free(round->statuses);
}

void stress_round_clear(struct stress_round *round, uint64_t number, const MPI_Comm *comms)
{
    round->number = number;
    round->comms = comms;
    round->send_count = round->sent = 0;
    round->expected_count = 0;
    round->to_post_count = round->to_probe_count = 0;
    round->incoming_count = round->request_count = 0;
}

static bool is_probed(enum lane lane)
{
    return lane == LANE_PROBE || lane == LANE_MATCHED_PROBE || lane == LANE_ANYTHING_PROBED;
}

void stress_round_add(struct stress_round *round, const struct planned *message)
{
    int rank = round->session->rank;
    if (message->source == rank)
        round->sends[round->send_count++] = *message;
    if (message->destination != rank)
        return;
    round->taken[round->expected_count] = false;
    round->expected[round->expected_count++] = *message;
    if (is_probed(message->lane))
        round->to_probe[round->to_probe_count++] = *message;
    else
        round->to_post[round->to_post_count++] = *message;
}

static MPI_Comm comm_of(const struct stress_round *round, enum lane lane)
{
    switch (lane) {
    case LANE_ANY_TAG:
        return round->comms[GROUP_ANY_TAG];
    case LANE_ANYTHING:
        return round->comms[GROUP_ANYTHING];
    case LANE_ANYTHING_PROBED:
        return round->comms[GROUP_PROBED];
    default:
        return round->comms[GROUP_BY_TAG];
    }
}

static struct content content_of(const struct stress_round *round, const struct planned *message)
{
    return (struct content){round->session->options.seed, message->source, message->sequence,
                            message->size};
}

static void send_next(struct stress_round *round)
{
    const struct planned *message = &round->sends[round->sent];
    unsigned char *bytes = allocate(message->size + 8);
    struct content content = content_of(round, message);
    check_fill(bytes, &content);
    round->send_bytes[round->sent++] = bytes;
    MPI_Request *request = &round->requests[round->request_count++];
    MPI_Comm comm = comm_of(round, message->lane);
    if (random_below(round->random, SYNCHRONOUS_SHARE) == 0)
        MPI_Issend(bytes, (int)message->size, MPI_BYTE, message->destination, message->tag, comm,
                   request);
    else
        MPI_Isend(bytes, (int)message->size, MPI_BYTE, message->destination, message->tag, comm,
                  request);
}

// Takes one at random out of a list; the order of the rest does not matter.
static struct planned take_random(struct random *random, struct planned *list, size_t *count)
{
    size_t at = (size_t)random_below(random, *count);
    struct planned taken = list[at];
    list[at] = list[--*count];
    return taken;
}

static struct incoming *add_incoming(struct stress_round *round, const struct planned *spec)
{
    struct incoming *incoming = &round->incoming[round->incoming_count++];
    incoming->spec = *spec;
    incoming->bytes = allocate(spec->capacity + CHECK_GUARD);
    check_poison_unknown(incoming->bytes, spec->capacity);
    incoming->request = SIZE_MAX;
    return incoming;
}

static void post_one(struct stress_round *round)
{
    struct planned spec = take_random(round->random, round->to_post, &round->to_post_count);
    struct incoming *incoming = add_incoming(round, &spec);
    bool any_source = spec.lane == LANE_ANY_SOURCE || spec.lane == LANE_ANYTHING;
    bool any_tag = spec.lane == LANE_ANY_TAG || spec.lane == LANE_ANYTHING;
    incoming->request = round->request_count++;
    MPI_Irecv(incoming->bytes, (int)spec.capacity, MPI_BYTE,
              any_source ? MPI_ANY_SOURCE : spec.source, any_tag ? MPI_ANY_TAG : spec.tag,
              comm_of(round, spec.lane), &round->requests[incoming->request]);
}

static bool probe_and_receive(struct stress_round *round, const struct planned *spec)
{
    MPI_Comm comm = comm_of(round, spec->lane);
    MPI_Status status;
    int found;
    MPI_Iprobe(MPI_ANY_SOURCE, spec->tag, comm, &found, &status);
    if (!found)
        return false;
    struct incoming *incoming = add_incoming(round, spec);
    MPI_Recv(incoming->bytes, (int)spec->capacity, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
             comm, &incoming->status);
    return true;
}

static bool probe_matched(struct stress_round *round, const struct planned *spec)
{
    bool anything = spec->lane == LANE_ANYTHING_PROBED;
    MPI_Message message;
    MPI_Status status;
    int found;
    MPI_Improbe(anything ? MPI_ANY_SOURCE : spec->source, anything ? MPI_ANY_TAG : spec->tag,
                comm_of(round, spec->lane), &found, &message, &status);
    if (!found)
        return false;
    struct incoming *incoming = add_incoming(round, spec);
    int capacity = (int)spec->capacity;
    if (anything) {
        MPI_Mrecv(incoming->bytes, capacity, MPI_BYTE, &message, &incoming->status);
    } else {
        incoming->request = round->request_count++;
        MPI_Imrecv(incoming->bytes, capacity, MPI_BYTE, &message,
                   &round->requests[incoming->request]);
    }
    return true;
}

static bool probe_one(struct stress_round *round)
{
    struct planned spec = take_random(round->random, round->to_probe, &round->to_probe_count);
    bool found = spec.lane == LANE_PROBE ? probe_and_receive(round, &spec)
                                         : probe_matched(round, &spec);
    if (!found)
        round->to_probe[round->to_probe_count++] = spec;
    return found;
}

// Starts everything in random order: some receives before their message, some after.
static void start_all(struct stress_round *round)
{
    for (;;) {
        size_t sends = round->send_count - round->sent, posts = round->to_post_count;
        size_t probes = round->to_probe_count, all = sends + posts + probes;
        if (all == 0)
            return;
        uint64_t choice = random_below(round->random, all);
        if (choice < sends)
            send_next(round);
        else if (choice < sends + posts)
            post_one(round);
        else if (!probe_one(round) && sends + posts == 0)
            idle_yield();
    }
}

static void complete_all(struct stress_round *round)
{
    int done = 0;
    for (;;) {
        MPI_Testall((int)round->request_count, round->requests, &done, round->statuses);
        if (done)
            break;
        idle_yield();
    }
    for (size_t i = 0; i < round->incoming_count; i++) {
        struct incoming *incoming = &round->incoming[i];
        if (incoming->request != SIZE_MAX)
            incoming->status = round->statuses[incoming->request];
    }
}

// MPI lets messages of one source on one communicator be received in another order than
// sent only when a receive does not match the earlier one. So of the messages that all
// receives of the lane (and tag) match, the first not yet taken must be this one.
static const struct planned *take_expected(struct stress_round *round,
                                           const struct incoming *incoming)
{
    const MPI_Status *status = &incoming->status;
    enum lane lane = incoming->spec.lane;
    for (size_t i = 0; i < round->expected_count; i++) {
        const struct planned *message = &round->expected[i];
        if (round->taken[i] || message->lane != lane || message->source != status->MPI_SOURCE)
            continue;
        if (plan_is_by_tag(lane) && message->tag != status->MPI_TAG)
            continue;
        round->taken[i] = true;
        return message;
    }
    return NULL;
}

static void check_incoming(struct stress_round *round, const struct incoming *incoming)
{
    const struct planned *message = take_expected(round, incoming);
    int source = incoming->status.MPI_SOURCE, tag = incoming->status.MPI_TAG;
    if (message == NULL)
        session_abort(EXIT_WRONG_DATA,
                      "message not sent to this receive: round %" PRIu64 ", source %d, tag %d",
                      round->number, source, tag);
    if (message->tag != tag)
        session_abort(EXIT_WRONG_DATA,
                      "out of order: round %" PRIu64 ", source %d, message %" PRIu64
                      ": got tag %d, expected %d",
                      round->number, source, message->sequence, tag, message->tag);
    struct content content = content_of(round, message);
    verify(incoming->bytes, &content, round->number, &incoming->status);
}

void stress_round_run(struct stress_round *round)
{
    start_all(round);
    complete_all(round);
    for (size_t i = 0; i < round->incoming_count; i++) {
        check_incoming(round, &round->incoming[i]);
        free(round->incoming[i].bytes);
    }
    for (size_t i = 0; i < round->send_count; i++)
        free(round->send_bytes[i]);
}
