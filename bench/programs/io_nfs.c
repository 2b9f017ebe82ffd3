// Files of an NFS server by libnfs, without the kernel.
#define _GNU_SOURCE

#include "buffer.h"
#include "io_access.h"
#include "io_nfs_connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// As in io_posix.c: 2 s.
enum { REMOVE_TRIES = 200, REMOVE_WAIT_US = 10000 };

struct io_nfs {
    struct libnfs library;
    struct nfs_connection *connections;
    uint64_t count;
    struct nfs_connection removal; // of the folder; why it failed is read after it is closed
};

static const char *connect_all(struct io *io)
{
    struct io_nfs *nfs = allocate(sizeof *nfs);
    *nfs = (struct io_nfs){.count = io->session->options.connections};
    io->connection = nfs;
    nfs->connections = allocate(nfs->count * sizeof *nfs->connections);
    const char *why = libnfs_load(&nfs->library);
    for (uint64_t i = 0; why == NULL && i < nfs->count; i++)
        why = nfs_connection_open(&nfs->connections[i], &nfs->library, io->session->options.path);
    return why;
}

static void disconnect_all(struct io *io)
{
    struct io_nfs *nfs = io->connection;
    for (uint64_t i = 0; i < nfs->count; i++)
        nfs_connection_close(&nfs->connections[i]);
    free(nfs->connections);
    free(nfs);
}

// The first connection, for what one thread does alone.
static struct nfs_connection *first(struct io *io)
{
    struct io_nfs *nfs = io->connection;
    return &nfs->connections[0];
}

static const char *root(const struct io *io)
{
    (void)io;
    return ""; // what the URL names is mounted
}

static const char *make_folder(struct io *io, const char *path)
{
    struct nfs_connection *at = first(io);
    return nfs_connection_reason(at, at->library->mkdir(at->context, path));
}

static int remove_tree(struct nfs_connection *at, const char *path);

static void empty_folder(struct nfs_connection *at, const char *path)
{
    struct nfsdir *folder;
    if (at->library->opendir(at->context, path, &folder) < 0)
        return;
    char inside[2 * IO_PATH_CAPACITY];
    const struct nfsdirent *entry;
    while ((entry = at->library->readdir(at->context, folder)) != NULL) {
        if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0)
            continue;
        int length = snprintf(inside, sizeof inside, "%s/%s", path, entry->name);
        if (length < (int)sizeof inside && at->library->unlink(at->context, inside) < 0)
            remove_tree(at, inside);
    }
    at->library->closedir(at->context, folder);
}

static int remove_tree(struct nfs_connection *at, const char *path)
{
    empty_folder(at, path);
    return at->library->rmdir(at->context, path);
}

// It may be called while a thread waits for this process's other connections, and in the middle
// of anything, so it has a connection of its own.
static const char *remove_folder(struct io *io, const char *path)
{
    struct io_nfs *nfs = io->connection;
    struct nfs_connection *own = &nfs->removal;
    const char *why = nfs_connection_open(own, &nfs->library, io->session->options.path);
    if (why != NULL)
        return why;
    int result = 0;
    for (int i = 0; i < REMOVE_TRIES; i++) {
        result = remove_tree(own, path);
        if (result == 0 || result == -ENOENT)
            break;
        usleep(REMOVE_WAIT_US);
    }
    why = result == -ENOENT ? NULL : nfs_connection_reason(own, result);
    nfs_connection_close(own);
    return why;
}

static const char *create_file(struct io *io, const char *path)
{
    struct nfs_connection *at = first(io);
    struct nfsfh *handle;
    int result = at->library->creat(at->context, path, 0600, &handle);
    if (result >= 0)
        result = at->library->close(at->context, handle);
    return nfs_connection_reason(at, result);
}

static const char *stat_file(struct io *io, const char *path)
{
    struct nfs_connection *at = first(io);
    struct nfs_stat_64 status;
    return nfs_connection_reason(at, at->library->stat64(at->context, path, &status));
}

static const char *remove_file(struct io *io, const char *path)
{
    struct nfs_connection *at = first(io);
    return nfs_connection_reason(at, at->library->unlink(at->context, path));
}

// A file has a handle on each connection.
static const char *open_file(struct io_file *file)
{
    struct io_nfs *nfs = file->io->connection;
    struct nfsfh **handles = allocate(nfs->count * sizeof *handles);
    file->own = handles;
    for (uint64_t i = 0; i < nfs->count; i++) {
        struct nfs_connection *at = &nfs->connections[i];
        int result = at->library->open(at->context, file->path, O_RDWR, &handles[i]);
        if (result < 0)
            return nfs_connection_reason(at, result);
    }
    return NULL;
}

static void close_file(struct io_file *file)
{
    struct io_nfs *nfs = file->io->connection;
    struct nfsfh **handles = file->own;
    for (uint64_t i = 0; i < nfs->count; i++)
        nfs->connections[i].library->close(nfs->connections[i].context, handles[i]);
    free(handles);
}

static const char *write_bytes(struct io_file *file, uint64_t thread, const unsigned char *bytes,
                               size_t size, uint64_t offset)
{
    struct io_nfs *nfs = file->io->connection;
    struct nfsfh **handles = file->own;
    uint64_t i = thread % nfs->count;
    return nfs_connection_write(&nfs->connections[i], handles[i], bytes, size, offset);
}

static const char *read_bytes(struct io_file *file, uint64_t thread, unsigned char *bytes,
                              size_t size, uint64_t offset)
{
    struct io_nfs *nfs = file->io->connection;
    struct nfsfh **handles = file->own;
    uint64_t i = thread % nfs->count;
    return nfs_connection_read(&nfs->connections[i], handles[i], bytes, size, offset);
}

const struct io_access io_nfs = {
    .name = "libnfs",
    .connect = connect_all,
    .disconnect = disconnect_all,
    .root = root,
    .make_folder = make_folder,
    .remove_folder = remove_folder,
    .create = create_file,
    .stat = stat_file,
    .remove = remove_file,
    .open = open_file,
    .close = close_file,
    .write = write_bytes,
    .read = read_bytes,
};
