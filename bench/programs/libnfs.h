// libnfs, loaded when it is asked for: these programs are built without it.
#ifndef FISHPLATE_BENCH_LIBNFS_H
#define FISHPLATE_BENCH_LIBNFS_H

#include <stddef.h>
#include <stdint.h>

// Both are the library's own; these programs never look inside.
struct nfs_context;
struct nfsfh;
struct nfsdir;

// The beginnings of what the library hands out, which is all that is read of it.
struct nfs_url {
    char *server, *path, *file;
};
struct nfsdirent {
    struct nfsdirent *next;
    char *name;
};

// More than the 17 numbers that the library writes.
struct nfs_stat_64 {
    uint64_t numbers[32];
};

typedef void nfs_cb(int result, struct nfs_context *nfs, void *data, void *state);

// Functions of libnfs 4 and 5, in its own names; below zero they return -errno.
struct libnfs {
    struct nfs_context *(*init_context)(void);
    void (*destroy_context)(struct nfs_context *);
    char *(*get_error)(struct nfs_context *);
    void (*set_timeout)(struct nfs_context *, int milliseconds);
    void (*set_autoreconnect)(struct nfs_context *, int retries);
    void (*set_client_name)(struct nfs_context *, const char *name); // NFS 4
    void (*set_verifier)(struct nfs_context *, const char *verifier); // NFS 4; 8 bytes
    struct nfs_url *(*parse_url_dir)(struct nfs_context *, const char *url);
    void (*destroy_url)(struct nfs_url *);
    int (*mount)(struct nfs_context *, const char *server, const char *exported);
    int (*get_fd)(struct nfs_context *);
    int (*which_events)(struct nfs_context *);
    int (*service)(struct nfs_context *, int events);
    int (*mkdir)(struct nfs_context *, const char *path);
    int (*rmdir)(struct nfs_context *, const char *path);
    int (*unlink)(struct nfs_context *, const char *path);
    int (*stat64)(struct nfs_context *, const char *path, struct nfs_stat_64 *);
    int (*opendir)(struct nfs_context *, const char *path, struct nfsdir **);
    struct nfsdirent *(*readdir)(struct nfs_context *, struct nfsdir *);
    void (*closedir)(struct nfs_context *, struct nfsdir *);
    int (*creat)(struct nfs_context *, const char *path, int mode, struct nfsfh **);
    int (*open)(struct nfs_context *, const char *path, int flags, struct nfsfh **);
    int (*close)(struct nfs_context *, struct nfsfh *);
    int (*pread_async)(struct nfs_context *, struct nfsfh *, uint64_t offset, uint64_t count,
                       nfs_cb *, void *state);
    int (*pwrite_async)(struct nfs_context *, struct nfsfh *, uint64_t offset, uint64_t count,
                        const void *bytes, nfs_cb *, void *state);
    size_t most_written; // bytes of one write over NFS 4
};

// Loads the library: the file that FISHPLATE_LIBNFS names, or the one that the system finds. Why
// it cannot be had; NULL: it can.
const char *libnfs_load(struct libnfs *library);

#endif
