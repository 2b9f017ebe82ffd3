// One connection to an NFS server, which threads share: their requests are under way at once.
#ifndef FISHPLATE_BENCH_IO_NFS_CONNECTION_H
#define FISHPLATE_BENCH_IO_NFS_CONNECTION_H

#include "libnfs.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct nfs_connection {
    const struct libnfs *library;
    struct nfs_context *context;
    pthread_mutex_t lock; // of the context
    pthread_cond_t served; // answers have come, or nobody listens any more
    bool listening; // a thread waits for answers, for all
    size_t most_written; // bytes of one request
    int wake; // tells it that there is something to send
    char why[256]; // the last that failed
};

// Why not, in words, as with the others; NULL: it is there. It cannot be copied.
const char *nfs_connection_open(struct nfs_connection *at, const struct libnfs *library,
                                const char *url);
void nfs_connection_close(struct nfs_connection *at);

// What a result of the library means.
const char *nfs_connection_reason(struct nfs_connection *at, int result);

// All bytes, in as many requests as the server's limits ask for.
const char *nfs_connection_write(struct nfs_connection *at, struct nfsfh *handle,
                                 const unsigned char *bytes, size_t size, uint64_t offset);
const char *nfs_connection_read(struct nfs_connection *at, struct nfsfh *handle,
                                unsigned char *bytes, size_t size, uint64_t offset);

#endif
