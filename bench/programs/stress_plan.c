#include "stress_plan.h"

// Tags of a lane, half for small and half for large messages.
enum { TAGS_PER_LANE = 8 };

// One message in so many is large, and one has a size next to a power of two.
enum { LARGE_SHARE = 50, EDGE_SHARE = 8 };

struct plan plan_start(uint64_t seed, int source, int ranks, uint64_t messages, size_t max_size)
{
    uint64_t place = (uint64_t)source, count = (uint64_t)ranks;
    struct plan plan = {.random = random_stream(seed, place),
                        .source = source,
                        .ranks = ranks,
                        .max_size = max_size,
                        .left = messages / count + (place < messages % count)};
    return plan;
}

int plan_is_by_tag(enum lane lane)
{
    return lane <= LANE_MATCHED_PROBE;
}

static unsigned bit_length(size_t value)
{
    unsigned bits = 0;
    for (; value > 0; value >>= 1)
        bits++;
    return bits;
}

// Between low and high, every power of two as likely as any other.
static size_t draw_size(struct random *random, size_t low, size_t high)
{
    unsigned least = bit_length(low), most = bit_length(high);
    unsigned bits = least + (unsigned)random_below(random, most - least + 1);
    uint64_t base = bits == 0 ? 0 : UINT64_C(1) << (bits - 1);
    uint64_t size = base;
    if (random_below(random, EDGE_SHARE) == 0)
        size = base + random_below(random, 3) - (base > 0);
    else if (base > 0)
        size = base + random_below(random, base);
    if (size < low)
        return low;
    return size > high ? high : (size_t)size;
}

static struct planned draw_message(struct plan *plan)
{
    struct random *random = &plan->random;
    struct planned message = {.source = plan->source, .sequence = plan->sequence++};
    int step = 1 + (int)random_below(random, (uint64_t)plan->ranks - 1);
    message.destination = (plan->source + step) % plan->ranks;
    message.lane = (enum lane)random_below(random, LANE_COUNT);

    // Any tag may meet any size, so those receives would all have to be of the largest.
    int large = plan->max_size > PLAN_SMALL_SIZE && plan_is_by_tag(message.lane)
        && random_below(random, LARGE_SHARE) == 0;
    size_t small = plan->max_size < PLAN_SMALL_SIZE ? plan->max_size : PLAN_SMALL_SIZE;
    message.capacity = large ? plan->max_size : small;
    message.size = large ? draw_size(random, PLAN_SMALL_SIZE + 1, plan->max_size)
                         : draw_size(random, 0, small);
    int half = TAGS_PER_LANE / 2;
    message.tag = (int)message.lane * TAGS_PER_LANE + (large ? half : 0)
        + (int)random_below(random, (uint64_t)half);
    return message;
}

size_t plan_round(struct plan *plan, struct planned messages[PLAN_ROUND_MESSAGES])
{
    size_t count = 0, bytes = 0;
    while (count < PLAN_ROUND_MESSAGES && (plan->has_held || plan->left > 0)) {
        if (!plan->has_held) {
            plan->held = draw_message(plan);
            plan->has_held = 1;
            plan->left--;
        }
        if (count > 0 && bytes + plan->held.capacity > PLAN_ROUND_BYTES)
            break;
        bytes += plan->held.capacity;
        messages[count++] = plan->held;
        plan->has_held = 0;
    }
    return count;
}
