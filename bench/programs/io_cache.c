#define _GNU_SOURCE // O_DIRECT

#include "io_cache.h"

#include "buffer.h"
#include "io_access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

static const struct file_system {
    unsigned long magic; // as statfs(2) lists them
    const char *name;
    bool in_memory;
} file_systems[] = {
    {0x01021994, "tmpfs", true},     {0x858458f6, "ramfs", true},
    {0xef53, "ext4", false},         {0x58465342, "XFS", false},
    {0x9123683e, "Btrfs", false},    {0x2fc12fc1, "ZFS", false},
    {0x6969, "NFS", false},          {0xff534d42, "CIFS", false},
    {0x65735546, "FUSE", false},     {0x0bd00bd0, "Lustre", false},
    {0x47504653, "GPFS", false},     {0x19830326, "BeeGFS", false},
    {0x20030528, "OrangeFS", false}, {0x00c36400, "Ceph", false},
    {0x794c7630, "overlayfs", false},
};

// Of the file system at a path; 0 when it does not tell.
static unsigned long magic_at(const char *path)
{
    struct statfs status;
    return statfs(path, &status) == 0 ? (unsigned long)status.f_type & 0xffffffffUL : 0;
}

// NULL: one that is not listed.
static const struct file_system *file_system_of(unsigned long magic)
{
    for (size_t i = 0; i < sizeof file_systems / sizeof file_systems[0]; i++)
        if (file_systems[i].magic == magic)
            return &file_systems[i];
    return NULL;
}

bool cache_free_bytes(const char *path, uint64_t *bytes)
{
    struct statfs status;
    if (statfs(path, &status) != 0 || status.f_blocks == 0)
        return false;
    *bytes = (uint64_t)status.f_bavail * (uint64_t)status.f_bsize;
    return true;
}

void cache_name_file_system(const char *path, char *name, size_t capacity)
{
    unsigned long magic = magic_at(path);
    const struct file_system *found = file_system_of(magic);
    if (found != NULL)
        snprintf(name, capacity, "%s", found->name);
    else
        snprintf(name, capacity, "file system 0x%lx", magic);
}

bool cache_is_file_system(const char *path)
{
    const struct file_system *found = file_system_of(magic_at(path));
    return found != NULL && found->in_memory;
}

bool cache_can_bypass(const char *folder)
{
    char path[IO_PATH_CAPACITY + 16];
    snprintf(path, sizeof path, "%s/direct", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    struct buffer buffer;
    buffer_create(&buffer, CACHE_ALIGNMENT, 1);
    bool goes = pwrite(fd, buffer.bytes, CACHE_ALIGNMENT, 0) == CACHE_ALIGNMENT
        && pread(fd, buffer.bytes, CACHE_ALIGNMENT, 0) == CACHE_ALIGNMENT;
    buffer_destroy(&buffer);
    close(fd);
    unlink(path);
    return goes;
}

const char *cache_sync(int fd)
{
    return fdatasync(fd) == 0 ? NULL : strerror(errno);
}

void cache_drop(int fd, uint64_t offset, size_t size)
{
    // Only whole pages go.
    uint64_t first = offset / CACHE_ALIGNMENT * CACHE_ALIGNMENT, end = offset + size;
    uint64_t last = (end + CACHE_ALIGNMENT - 1) / CACHE_ALIGNMENT * CACHE_ALIGNMENT;
    posix_fadvise(fd, (off_t)first, size == 0 ? 0 : (off_t)(last - first), POSIX_FADV_DONTNEED);
}
