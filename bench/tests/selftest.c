// Tests of the parts that need no MPI. Prints 'N passed, 0 failed'.
#include "budget.h"
#include "check.h"
#include "clock_offset.h"
#include "command_line_test.h"
#include "expect.h"
#include "files_test.h"
#include "patterns.h"
#include "schedule.h"
#include "statistics.h"
#include "sum.h"
#include "team.h"
#include "tiers.h"

#include "../programs/stress_plan.h"

#include <stdlib.h>
#include <string.h>

static void test_statistics(void)
{
    struct series series;
    if (!series_create(&series))
        abort();
    for (int i = 100; i >= 1; i--)
        series_add(&series, i);
    struct summary summary = series_summarize(&series);
    EXPECT(near(summary.min, 1) && near(summary.p50, 50) && near(summary.p90, 90));
    EXPECT(near(summary.p99_9, 100));
    EXPECT(near(summary.p99, 99) && near(summary.max, 100) && near(summary.mean, 50.5));

    // Four times the capacity: kept samples are thinned out, evenly.
    series_clear(&series);
    uint64_t count = (uint64_t)SERIES_CAPACITY * 4;
    for (uint64_t i = 1; i <= count; i++)
        series_add(&series, (double)i);
    EXPECT(series.kept_count <= SERIES_CAPACITY && series.stride == 4);
    summary = series_summarize(&series);
    EXPECT(near(summary.min, 1) && near(summary.max, (double)count));
    EXPECT(summary.p50 > 0.499 * (double)count && summary.p50 < 0.501 * (double)count);
    series_clear(&series);
    EXPECT(near(series_summarize(&series).max, 0));
    series_destroy(&series);

    double odd[] = {3, 1, 2}, even[] = {4, 1, 2, 3}, one[] = {5};
    EXPECT(near(median(odd, 3), 2) && near(median(even, 4), 2.5) && near(median(one, 1), 5));
    EXPECT(near(percentile(one, 1, 0), 5) && near(percentile(one, 1, 100), 5));
}

static void test_contents(void)
{
    enum { CAPACITY = 100 };
    unsigned char bytes[CAPACITY + CHECK_GUARD];
    struct mismatch wrong;
    for (size_t size = 0; size <= CAPACITY; size++) {
        struct content content = {1, 0, 5, size}, other = {1, 0, 6, size};
        check_poison(bytes, &content);
        EXPECT(size == 0 || (!check_compare(bytes, &content, &wrong) && wrong.offset == 0));
        check_fill(bytes, &content);
        EXPECT(check_compare(bytes, &content, &wrong));
        EXPECT(size < 8 || !check_compare(bytes, &other, &wrong));
        bytes[size] ^= 1;
        EXPECT(!check_compare(bytes, &content, &wrong) && wrong.offset == size);
        bytes[size] ^= 1;
        if (size == 0)
            continue;
        bytes[size - 1] ^= 0x80;
        EXPECT(!check_compare(bytes, &content, &wrong) && wrong.offset == size - 1);
        EXPECT((wrong.got ^ wrong.expected) == 0x80);
    }
}

static void test_sums(void)
{
    enum { SIZE = 16 };
    struct content first = {1, 0, 0, SIZE}, second = {1, 1, 0, SIZE};
    unsigned char sum[SIZE + CHECK_GUARD], part[SIZE + CHECK_GUARD];
    check_poison(sum, &first);
    check_fill(sum, &first);
    check_fill(part, &second);
    for (size_t at = 0; at < SIZE; at += 4) {
        uint32_t left, right;
        memcpy(&left, sum + at, 4);
        memcpy(&right, part + at, 4);
        left += right;
        memcpy(sum + at, &left, 4);
    }
    struct mismatch wrong;
    EXPECT(!check_compare(sum, &first, &wrong));
    sum_subtract(sum, &second);
    EXPECT(check_compare(sum, &first, &wrong));
    sum[SIZE] ^= 1;
    EXPECT(!check_compare(sum, &first, &wrong) && check_compare_block(sum, &first, &wrong));
}

static void test_tiers(void)
{
    struct hop hops[] = {{.peer = 1, .latency_us = 31.0}, {.peer = 2, .latency_us = 2.0},
                         {.peer = 3, .latency_us = 10.0}, {.peer = 4, .latency_us = 12.4},
                         {.peer = 5, .latency_us = 2.4},  {.peer = 6, .latency_us = 10.5}};
    const int peers[] = {2, 5, 3, 6, 4, 1}, tiers[] = {1, 1, 2, 2, 2, 3};
    EXPECT(tiers_find(hops, 6) == 3);
    for (size_t i = 0; i < 6; i++)
        EXPECT(hops[i].peer == peers[i] && hops[i].tier == tiers[i]);
    EXPECT(tiers_find(hops, 1) == 1 && tiers_find(hops, 0) == 0);
}

enum { TEAM_THREADS = 4, TEAM_SAMPLES = 3000 };

struct roll_call {
    int present[TEAM_THREADS];
    bool all_were_there[TEAM_THREADS];
};

static double answer_roll_call(void *state, uint64_t member, struct team *team)
{
    struct roll_call *call = state;
    call->present[member] = 1;
    team_wait(team);
    int present = 0;
    for (int i = 0; i < TEAM_THREADS; i++)
        present += call->present[i];
    call->all_were_there[member] = present == TEAM_THREADS;
    for (int i = 0; i < TEAM_SAMPLES; i++)
        team_add(team, member, (double)(member + 1));
    return (double)(member + 1);
}

static void test_team(void)
{
    struct series series;
    if (!series_create(&series))
        abort();
    struct roll_call call = {0};
    struct team_seconds seconds = team_run(TEAM_THREADS, answer_roll_call, &call, &series);
    EXPECT(near(seconds.slowest, 4.0) && near(seconds.mean, 2.5));
    for (int i = 0; i < TEAM_THREADS; i++)
        EXPECT(call.all_were_there[i]);
    EXPECT(series.count == (uint64_t)TEAM_THREADS * TEAM_SAMPLES);
    EXPECT(near(series.sum, TEAM_SAMPLES * (1.0 + 2.0 + 3.0 + 4.0)));
    series_destroy(&series);
}

static void test_budget(void)
{
    // Whatever an iteration takes, the budget is used and not much exceeded.
    const double costs[] = {1e-6, 1e-3, 0.3, 5.0};
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++) {
        struct budget budget = {.seconds = 1.0};
        uint64_t batch, batches = 0;
        for (; (batch = budget_next(&budget)) > 0; batches++)
            budget_add(&budget, batch, (double)batch * costs[i]);
        EXPECT(budget.spent >= 1.0 && budget.spent < 1.0 + 1.5 * costs[i] + 0.01);
        EXPECT(batches < 40);
    }
    // A hiccup in the first iteration does not end the measurement early.
    struct budget budget = {.seconds = 1.0};
    budget_add(&budget, budget_next(&budget), 0.2);
    for (uint64_t batch; (batch = budget_next(&budget)) > 0;)
        budget_add(&budget, batch, (double)batch * 1e-6);
    EXPECT(budget.iterations > 500000);
}

static void test_clock_offset(void)
{
    // The other clock is 100 s ahead. Answers come back at once, messages there take 1 s or
    // more; the quickest errs by half of that.
    struct clock_offset offset = CLOCK_OFFSET_UNKNOWN;
    clock_offset_add(&offset, 10.0, 113.0, 13.0);
    EXPECT(near(offset.seconds, 101.5) && near(offset.round_trip, 3.0));
    clock_offset_add(&offset, 20.0, 121.0, 21.0);
    clock_offset_add(&offset, 30.0, 132.0, 32.0);
    EXPECT(near(offset.seconds, 100.5) && near(offset.round_trip, 1.0));
    // Behind, with the same time both ways.
    struct clock_offset behind = CLOCK_OFFSET_UNKNOWN;
    clock_offset_add(&behind, 10.0, 3.0, 12.0);
    EXPECT(near(behind.seconds, -8.0));
}

static void test_schedule(void)
{
    const struct schedule schedule = {.first = 100.0, .interval = 2.0, .tolerance = 0.1};
    EXPECT(near(schedule_time(&schedule, 0), 100.0) && near(schedule_time(&schedule, 3), 106.0));
    EXPECT(schedule_punctuality(&schedule, 1, 101.9, 102.05) == PUNCTUAL);
    EXPECT(schedule_punctuality(&schedule, 1, 101.9, 102.2) == OVERSLEPT);
    EXPECT(schedule_punctuality(&schedule, 1, 102.001, 102.001) == CAME_LATE);

    double samples[] = {1, 2, 3, 4, 5};
    const int none[5] = {PUNCTUAL}, all[] = {1, 1, 2, 2, 2};
    const int some[] = {CAME_LATE, PUNCTUAL, PUNCTUAL, OVERSLEPT, PUNCTUAL};
    EXPECT(schedule_keep_punctual(samples, none, 5) == 5 && near(samples[4], 5));
    EXPECT(schedule_keep_punctual(samples, some, 5) == 3);
    EXPECT(near(samples[0], 2) && near(samples[1], 3) && near(samples[2], 5));
    EXPECT(schedule_keep_punctual(samples, all, 5) == 0);
}

static void test_late_starts_change_the_schedule(void)
{
    struct schedule schedule = schedule_for(1.0), before = schedule;
    int punctuality[SCHEDULE_STARTS] = {PUNCTUAL};
    EXPECT(near(schedule.interval, 2.0) && schedule.tolerance < 1.0);
    EXPECT(near(schedule_for(0.6).interval, 2.0) && near(schedule_for(1.1).interval, 4.0));
    schedule_adapt(&schedule, punctuality, SCHEDULE_STARTS);
    EXPECT(near(schedule.interval, before.interval) && near(schedule.tolerance, before.tolerance));
    punctuality[5] = CAME_LATE;
    schedule_adapt(&schedule, punctuality, SCHEDULE_STARTS);
    EXPECT(schedule.interval > before.interval && schedule.interval < 1.01 * before.interval);
    EXPECT(near(schedule.tolerance, before.tolerance));
    punctuality[5] = OVERSLEPT;
    schedule = before;
    schedule_adapt(&schedule, punctuality, SCHEDULE_STARTS);
    EXPECT(near(schedule.interval, before.interval) && near(schedule.tolerance, before.tolerance));
    // Too many of one kind and of the other.
    for (int i = 0; i < SCHEDULE_STARTS; i++)
        punctuality[i] = OVERSLEPT;
    schedule = before;
    schedule_adapt(&schedule, punctuality, SCHEDULE_STARTS);
    EXPECT(near(schedule.interval, 2.0) && schedule.tolerance > 1.2 * before.tolerance);
    for (int i = 0; i < SCHEDULE_STARTS; i++)
        punctuality[i] = CAME_LATE;
    schedule_adapt(&schedule, punctuality, SCHEDULE_STARTS);
    EXPECT(near(schedule.interval, 4.0));
}

// However much the time of an operation is misjudged, all its starts are punctual soon. Also
// where there is but one.
static void test_schedule_of_slow_operations(void)
{
    const double operation = 0.01;
    for (int starts = 1; starts <= SCHEDULE_STARTS; starts *= 16) {
        struct schedule schedule = schedule_for(0.0);
        int rounds = 0, kept = 0;
        for (; kept < starts && rounds < 100; rounds++) {
            double now = 2 * operation - schedule.interval, samples[SCHEDULE_STARTS];
            int punctuality[SCHEDULE_STARTS];
            for (int i = 0; i < starts; i++) {
                double time = schedule_time(&schedule, i), started = now > time ? now : time;
                punctuality[i] = schedule_punctuality(&schedule, i, now, started);
                now = started + operation;
            }
            schedule_adapt(&schedule, punctuality, starts);
            kept = schedule_keep_punctual(samples, punctuality, starts);
        }
        EXPECT(kept == starts && rounds < 60 && schedule.interval < 5 * operation);
    }
}

enum { PLAN_RANKS = 4, PLAN_MESSAGES = 10001 };

static bool is_sound(const struct planned *message, const struct planned *again, size_t max_size)
{
    return message->destination != message->source && message->destination >= 0
        && message->destination < PLAN_RANKS && message->size <= message->capacity
        && message->capacity <= max_size && message->size == again->size
        && message->tag == again->tag && message->destination == again->destination;
}

// Returns how many messages the source sends.
static uint64_t walk_plan(int source, size_t max_size)
{
    struct plan plan = plan_start(9, source, PLAN_RANKS, PLAN_MESSAGES, max_size), same = plan;
    struct planned messages[PLAN_ROUND_MESSAGES], again[PLAN_ROUND_MESSAGES];
    uint64_t total = 0;
    bool sound = true;
    for (size_t count; (count = plan_round(&plan, messages)) > 0;) {
        size_t bytes = 0;
        sound = sound && plan_round(&same, again) == count;
        for (size_t i = 0; i < count; i++) {
            sound = sound && is_sound(&messages[i], &again[i], max_size);
            sound = sound && messages[i].sequence == total++;
            bytes += messages[i].capacity;
        }
        sound = sound && (count == 1 || bytes <= PLAN_ROUND_BYTES);
    }
    EXPECT(sound);
    return total;
}

static void test_plan(void)
{
    const size_t max_sizes[] = {0, 100, (size_t)1 << 20, (size_t)64 << 20};
    for (size_t i = 0; i < sizeof max_sizes / sizeof max_sizes[0]; i++) {
        uint64_t total = 0;
        for (int source = 0; source < PLAN_RANKS; source++)
            total += walk_plan(source, max_sizes[i]);
        EXPECT(total == PLAN_MESSAGES);
    }
}

int main(void)
{
    test_command_line();
    test_patterns();
    test_files();
    test_statistics();
    test_contents();
    test_sums();
    test_tiers();
    test_team();
    test_budget();
    test_clock_offset();
    test_schedule();
    test_late_starts_change_the_schedule();
    test_schedule_of_slow_operations();
    test_plan();
    return expect_summary();
}
