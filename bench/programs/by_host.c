#include "by_host.h"

void by_host(const int *first, int ranks, int *in_order)
{
    int count = 0;
    for (int host = 0; host < ranks; host++)
        for (int rank = host; first[host] == host && rank < ranks; rank++)
            if (first[rank] == host)
                in_order[count++] = rank;
}
