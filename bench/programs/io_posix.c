// Files by POSIX.
#define _GNU_SOURCE // O_DIRECT

#include "io_posix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Others who are removing the same folder, or who still fill it, are waited for: 2 s.
enum { REMOVE_TRIES = 200, REMOVE_WAIT_US = 10000 };

const char io_end_of_file[] = "the file ends here";

static const char *reason(bool well)
{
    return well ? NULL : strerror(errno);
}

const char *io_posix_root(const struct io *io)
{
    return io->session->options.path;
}

const char *io_posix_make_folder(struct io *io, const char *path)
{
    (void)io;
    return reason(mkdir(path, 0700) == 0);
}

static void empty_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    char inside[2 * IO_PATH_CAPACITY];
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int length = snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (length >= (int)sizeof inside || unlink(inside) == 0)
            continue;
        empty_folder(inside);
        rmdir(inside);
    }
    closedir(folder);
}

const char *io_posix_remove_folder(struct io *io, const char *path)
{
    (void)io;
    for (int i = 0; i < REMOVE_TRIES; i++) {
        empty_folder(path);
        if (rmdir(path) == 0 || errno == ENOENT)
            return NULL;
        usleep(REMOVE_WAIT_US);
    }
    return strerror(errno);
}

static const char *create_file(struct io *io, const char *path)
{
    (void)io;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return reason(fd >= 0 && close(fd) == 0);
}

static const char *stat_file(struct io *io, const char *path)
{
    (void)io;
    struct stat status;
    return reason(stat(path, &status) == 0);
}

static const char *remove_file(struct io *io, const char *path)
{
    (void)io;
    return reason(unlink(path) == 0);
}

const char *io_posix_open(struct io_file *file)
{
    int direct = file->io->cache == CACHE_DIRECT ? O_DIRECT : 0;
    file->fd = open(file->path, O_RDWR | O_CLOEXEC | direct);
    if (file->fd < 0)
        return strerror(errno);
    // What the kernel reads ahead of random reads would only be dropped.
    if (file->io->session->options.order == ORDER_RANDOM)
        posix_fadvise(file->fd, 0, 0, POSIX_FADV_RANDOM);
    return NULL;
}

void io_posix_close(struct io_file *file)
{
    close(file->fd);
}

static const char *write_bytes(struct io_file *file, uint64_t thread, const unsigned char *bytes,
                               size_t size, uint64_t offset)
{
    (void)thread;
    for (size_t done = 0; done < size;) {
        ssize_t count = pwrite(file->fd, bytes + done, size - done, (off_t)(offset + done));
        if (count < 0 && errno != EINTR)
            return strerror(errno);
        done += count < 0 ? 0 : (size_t)count;
    }
    return NULL;
}

static const char *read_bytes(struct io_file *file, uint64_t thread, unsigned char *bytes,
                              size_t size, uint64_t offset)
{
    (void)thread;
    for (size_t done = 0; done < size;) {
        ssize_t count = pread(file->fd, bytes + done, size - done, (off_t)(offset + done));
        if (count == 0)
            return io_end_of_file;
        if (count < 0 && errno != EINTR)
            return strerror(errno);
        done += count < 0 ? 0 : (size_t)count;
    }
    return NULL;
}

const struct io_access io_posix = {
    .name = "POSIX",
    .root = io_posix_root,
    .make_folder = io_posix_make_folder,
    .remove_folder = io_posix_remove_folder,
    .create = create_file,
    .stat = stat_file,
    .remove = remove_file,
    .open = io_posix_open,
    .close = io_posix_close,
    .write = write_bytes,
    .read = read_bytes,
};
