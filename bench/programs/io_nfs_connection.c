#define _GNU_SOURCE

#include "io_nfs_connection.h"

#include "io_access.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

// A server that is gone for as long does not come back; the library waits without an end.
enum { TIMEOUT_MS = 30000 };

// The library looks for requests without an answer only when it is called: so often.
enum { LOOK_MS = 500 };

// Writes of one thread under way; with those of 2 KiB, a record of 256 KiB.
enum { AT_ONCE = 128 };

// A read or a write that is under way.
struct call {
    bool done;
    int result; // bytes, or -errno
    unsigned char *into; // of a read
};

const char *nfs_connection_reason(struct nfs_connection *at, int result)
{
    if (result >= 0)
        return NULL;
    const char *text = at->library->get_error(at->context);
    if (text == NULL || text[0] == '\0')
        text = strerror(-result);
    snprintf(at->why, sizeof at->why, "%s", text);
    return at->why;
}

// A server takes two clients of one name for one that has started again, and forgets what it
// had opened.
static void name_client(struct nfs_connection *at)
{
    static atomic_uint connections;
    struct timespec now;
    char host[64] = "", name[128], verifier[9];
    gethostname(host, sizeof host - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    unsigned number = atomic_fetch_add(&connections, 1);
    snprintf(name, sizeof name, "fishplate %s %ld %u %ld", host, (long)getpid(), number,
             now.tv_nsec);
    snprintf(verifier, sizeof verifier, "%08lx", (unsigned long)now.tv_sec & 0xffffffff);
    at->library->set_client_name(at->context, name);
    at->library->set_verifier(at->context, verifier);
}

static const char *mount_url(struct nfs_connection *at, const char *url)
{
    struct nfs_url *parsed = at->library->parse_url_dir(at->context, url);
    if (parsed == NULL)
        return nfs_connection_reason(at, -1);
    int result = at->library->mount(at->context, parsed->server, parsed->path);
    at->library->destroy_url(parsed);
    return nfs_connection_reason(at, result);
}

const char *nfs_connection_open(struct nfs_connection *at, const struct libnfs *library,
                                const char *url)
{
    *at = (struct nfs_connection){.library = library, .context = library->init_context()};
    if (at->context == NULL)
        return "libnfs has no memory for a connection";
    at->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pthread_mutex_init(&at->lock, NULL);
    pthread_cond_init(&at->served, NULL);
    library->set_timeout(at->context, TIMEOUT_MS);
    name_client(at);
    at->most_written = strstr(url, "version=4") != NULL ? library->most_written : SIZE_MAX;
    const char *why = mount_url(at, url);
    // From here on a connection that is lost is told.
    library->set_autoreconnect(at->context, 0);
    return why;
}

void nfs_connection_close(struct nfs_connection *at)
{
    at->library->destroy_context(at->context);
    close(at->wake);
    pthread_cond_destroy(&at->served);
    pthread_mutex_destroy(&at->lock);
}

static void answered(int result, struct nfs_context *context, void *data, void *state)
{
    (void)context;
    struct call *call = state;
    if (call->into != NULL && result > 0)
        memcpy(call->into, data, (size_t)result);
    call->result = result;
    call->done = true;
}

// Sends what was asked for at once, rather than when the listener is back.
static void send_request(struct nfs_connection *at)
{
    at->library->service(at->context, POLLOUT);
    const uint64_t one = 1;
    if (at->listening && (at->library->which_events(at->context) & POLLOUT) != 0
        && write(at->wake, &one, sizeof one) < 0)
        return; // it has been told already
}

// Waits for the server, for all threads. The lock is held before and after.
static int listen_once(struct nfs_connection *at)
{
    struct pollfd polled[2] = {
        {.fd = at->library->get_fd(at->context),
         .events = (short)at->library->which_events(at->context)},
        {.fd = at->wake, .events = POLLIN},
    };
    at->listening = true;
    pthread_mutex_unlock(&at->lock);
    poll(polled, 2, LOOK_MS);
    uint64_t told;
    bool woken = polled[1].revents != 0 && read(at->wake, &told, sizeof told) > 0;
    pthread_mutex_lock(&at->lock);
    at->listening = false;
    int events = polled[0].revents | (woken ? POLLOUT : 0);
    return at->library->service(at->context, events);
}

// The result of the call; the lock is held.
static int await(struct nfs_connection *at, const struct call *call)
{
    int lost = 0;
    while (!call->done && lost >= 0) {
        if (at->listening) {
            pthread_cond_wait(&at->served, &at->lock);
            continue;
        }
        lost = listen_once(at);
        pthread_cond_broadcast(&at->served);
    }
    // Someone else has to listen if this one has what it wanted.
    return call->done ? call->result : -1;
}

// Asks for the next bytes to be written, in as many requests as it takes, and waits for all.
// How many bytes are there, or what went wrong.
static int write_some(struct nfs_connection *at, struct nfsfh *handle, const unsigned char *bytes,
                      size_t size, uint64_t offset)
{
    struct call calls[AT_ONCE] = {{.done = false}};
    size_t lengths[AT_ONCE], asked = 0, count = 0;
    int result = 0;
    while (asked < size && count < AT_ONCE && result >= 0) {
        size_t left = size - asked;
        lengths[count] = left < at->most_written ? left : at->most_written;
        result = at->library->pwrite_async(at->context, handle, offset + asked, lengths[count],
                                           bytes + asked, answered, &calls[count]);
        if (result >= 0)
            asked += lengths[count++];
    }
    send_request(at);
    size_t done = 0;
    bool whole = true; // up to here
    for (size_t i = 0; i < count; i++) {
        int written = await(at, &calls[i]);
        if (written < 0)
            return written;
        done += whole ? (size_t)written : 0;
        whole = whole && (size_t)written == lengths[i];
    }
    return result < 0 ? result : (int)done;
}

const char *nfs_connection_write(struct nfs_connection *at, struct nfsfh *handle,
                                 const unsigned char *bytes, size_t size, uint64_t offset)
{
    const char *why = NULL;
    pthread_mutex_lock(&at->lock);
    for (size_t done = 0; why == NULL && done < size;) {
        int result = write_some(at, handle, bytes + done, size - done, offset + done);
        why = result == 0 ? "the server takes nothing" : nfs_connection_reason(at, result);
        done += result > 0 ? (size_t)result : 0;
    }
    pthread_mutex_unlock(&at->lock);
    return why;
}

const char *nfs_connection_read(struct nfs_connection *at, struct nfsfh *handle,
                                unsigned char *bytes, size_t size, uint64_t offset)
{
    const char *why = NULL;
    pthread_mutex_lock(&at->lock);
    for (size_t done = 0; why == NULL && done < size;) {
        struct call call = {.into = bytes + done};
        int result = at->library->pread_async(at->context, handle, offset + done, size - done,
                                              answered, &call);
        if (result >= 0) {
            send_request(at);
            result = await(at, &call);
        }
        why = result == 0 ? io_end_of_file : nfs_connection_reason(at, result);
        done += result > 0 ? (size_t)result : 0;
    }
    pthread_mutex_unlock(&at->lock);
    return why;
}
