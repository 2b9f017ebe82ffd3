#define _POSIX_C_SOURCE 200809L

#include "team.h"

#include "buffer.h"
#include "session.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Samples of a member that wait for their hand-over; 4 KiB.
enum { PENDING_CAPACITY = 512 };

struct member {
    struct team *team;
    uint64_t number;
    pthread_t thread;
    double seconds;
    size_t pending_count;
    double pending[PENDING_CAPACITY];
};

struct team {
    team_work *work;
    void *state;
    struct series *samples;
    pthread_mutex_t samples_lock;
    pthread_barrier_t barrier;
    struct member *members;
};

static void hand_over(struct member *member)
{
    struct team *team = member->team;
    pthread_mutex_lock(&team->samples_lock);
    for (size_t i = 0; i < member->pending_count; i++)
        series_add(team->samples, member->pending[i]);
    pthread_mutex_unlock(&team->samples_lock);
    member->pending_count = 0;
}

void team_add(struct team *team, uint64_t number, double sample)
{
    struct member *member = &team->members[number];
    if (member->pending_count == PENDING_CAPACITY)
        hand_over(member);
    member->pending[member->pending_count++] = sample;
}

static void *run_member(void *argument)
{
    struct member *member = argument;
    member->seconds = member->team->work(member->team->state, member->number, member->team);
    hand_over(member);
    return NULL;
}

void team_wait(struct team *team)
{
    pthread_barrier_wait(&team->barrier);
}

static struct team_seconds seconds_of(const struct team *team, uint64_t threads)
{
    double slowest = 0.0, sum = 0.0;
    for (uint64_t i = 0; i < threads; i++) {
        double seconds = team->members[i].seconds;
        slowest = seconds > slowest ? seconds : slowest;
        sum += seconds;
    }
    return (struct team_seconds){slowest, sum / (double)threads};
}

struct team_seconds team_run(uint64_t threads, team_work *work, void *state,
                             struct series *samples)
{
    struct team team = {.work = work, .state = state, .samples = samples};
    pthread_mutex_init(&team.samples_lock, NULL);
    pthread_barrier_init(&team.barrier, NULL, (unsigned)threads);
    team.members = allocate(threads * sizeof *team.members);
    for (uint64_t i = 0; i < threads; i++) {
        struct member *member = &team.members[i];
        member->team = &team;
        member->number = i;
        member->pending_count = 0;
    }
    for (uint64_t i = 1; i < threads; i++) {
        int error = pthread_create(&team.members[i].thread, NULL, run_member, &team.members[i]);
        if (error != 0)
            session_abort(EXIT_MEMORY, "no thread %" PRIu64 " of %" PRIu64 ": %s", i + 1, threads,
                          strerror(error));
    }
    run_member(&team.members[0]);
    for (uint64_t i = 1; i < threads; i++)
        pthread_join(team.members[i].thread, NULL);
    struct team_seconds seconds = seconds_of(&team, threads);
    free(team.members);
    pthread_barrier_destroy(&team.barrier);
    pthread_mutex_destroy(&team.samples_lock);
    return seconds;
}
