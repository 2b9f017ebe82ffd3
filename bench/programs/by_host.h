// Ranks in the order of their hosts, whatever the launcher's placement.
#ifndef FISHPLATE_BENCH_BY_HOST_H
#define FISHPLATE_BENCH_BY_HOST_H

// `first[r]`: the first rank on rank r's host. Writes all ranks, those of a host one after the
// other, hosts in the order of their first ranks.
void by_host(const int *first, int ranks, int *in_order);

#endif
