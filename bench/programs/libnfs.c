#define _POSIX_C_SOURCE 200809L

#include "libnfs.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Versions 4 and 5. From 6 on reads and writes take their arguments in another order.
static const char *const file_names[] = {"libnfs.so.13", "libnfs.so.14"};

// The file of the library, where the system does not find it, or another is meant.
static const char variable[] = "FISHPLATE_LIBNFS";

// Version 4 has room for 4 KiB in a request of NFS 4, with all that is around the bytes
// (libnfs, pull request 319). Version 5, which is told by a function, has as much as needed.
static const char of_version_5[] = "nfs_mt_service_thread_start";
enum { MOST_WRITTEN_BY_4 = 2048 };

static const struct {
    const char *name;
    size_t field;
} functions[] = {
    {"nfs_init_context", offsetof(struct libnfs, init_context)},
    {"nfs_destroy_context", offsetof(struct libnfs, destroy_context)},
    {"nfs_get_error", offsetof(struct libnfs, get_error)},
    {"nfs_set_timeout", offsetof(struct libnfs, set_timeout)},
    {"nfs_set_autoreconnect", offsetof(struct libnfs, set_autoreconnect)},
    {"nfs4_set_client_name", offsetof(struct libnfs, set_client_name)},
    {"nfs4_set_verifier", offsetof(struct libnfs, set_verifier)},
    {"nfs_parse_url_dir", offsetof(struct libnfs, parse_url_dir)},
    {"nfs_destroy_url", offsetof(struct libnfs, destroy_url)},
    {"nfs_mount", offsetof(struct libnfs, mount)},
    {"nfs_get_fd", offsetof(struct libnfs, get_fd)},
    {"nfs_which_events", offsetof(struct libnfs, which_events)},
    {"nfs_service", offsetof(struct libnfs, service)},
    {"nfs_mkdir", offsetof(struct libnfs, mkdir)},
    {"nfs_rmdir", offsetof(struct libnfs, rmdir)},
    {"nfs_unlink", offsetof(struct libnfs, unlink)},
    {"nfs_stat64", offsetof(struct libnfs, stat64)},
    {"nfs_opendir", offsetof(struct libnfs, opendir)},
    {"nfs_readdir", offsetof(struct libnfs, readdir)},
    {"nfs_closedir", offsetof(struct libnfs, closedir)},
    {"nfs_creat", offsetof(struct libnfs, creat)},
    {"nfs_open", offsetof(struct libnfs, open)},
    {"nfs_close", offsetof(struct libnfs, close)},
    {"nfs_pread_async", offsetof(struct libnfs, pread_async)},
    {"nfs_pwrite_async", offsetof(struct libnfs, pwrite_async)},
};

static void *open_library(void)
{
    const char *file = getenv(variable);
    if (file != NULL)
        return dlopen(file, RTLD_NOW | RTLD_LOCAL);
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < sizeof file_names / sizeof file_names[0]; i++)
        library = dlopen(file_names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

const char *libnfs_load(struct libnfs *library)
{
    static char why[512];
    void *loaded = open_library();
    if (loaded == NULL) {
        snprintf(why, sizeof why,
                 "--access nfs needs libnfs 4 or 5: %.250s; Debian has it in the package libnfs13, and "
                 "%s can name the file", dlerror(), variable);
        return why;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(loaded, functions[i].name);
        if (function == NULL) {
            snprintf(why, sizeof why, "libnfs has no %s; --access nfs needs libnfs 4 or 5",
                     functions[i].name);
            return why;
        }
        memcpy((char *)library + functions[i].field, &function, sizeof function);
    }
    library->most_written = dlsym(loaded, of_version_5) != NULL ? SIZE_MAX : MOST_WRITTEN_BY_4;
    return NULL;
}
