#include "rounds.h"

#include "rate.h"

double rounds_rate(const struct rounds *rounds, uint64_t iterations, double seconds)
{
    uint64_t messages = rounds->count * iterations * (rounds->both_ways ? 2 : 1);
    return megabytes_per_second(rounds->size, messages, seconds);
}

double rounds_batch(const struct rounds *rounds, uint64_t count, struct series *samples,
                    double (*round)(void *state), void *state)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double seconds = round(state);
        sum += seconds;
        if (rounds->session->rank == 0)
            series_add(samples, rounds_rate(rounds, 1, seconds));
    }
    return sum;
}
