// Memory and open files of this process, as Linux tells them.
#ifndef FISHPLATE_BENCH_PROCESS_SIZE_H
#define FISHPLATE_BENCH_PROCESS_SIZE_H

#include <stdint.h>

struct process_size {
    uint64_t memory_bytes; // private (RssAnon); 0: not told
    uint64_t files; // 0: not told
};

struct process_size process_size_now(void);

#endif
