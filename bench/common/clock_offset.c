#include "clock_offset.h"

void clock_offset_add(struct clock_offset *offset, double sent, double there, double back)
{
    double round_trip = back - sent;
    if (round_trip < offset->round_trip)
        *offset = (struct clock_offset){there - (sent + round_trip / 2.0), round_trip};
}
