// The options of all programs, and which of them a program takes.
#ifndef FISHPLATE_BENCH_OPTIONS_H
#define FISHPLATE_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// That of the workspace (Cargo.toml); a test holds the two together.
#define BENCH_VERSION "0.3.0"

// A range from 1 byte to the largest size has 31 sizes; room for a few of them.
enum { OPTIONS_MAX_SIZES = 128, OPTIONS_MAX_REPEATS = 1000 };

// An address in numbers; IPv6 with a zone takes at most 62 characters.
enum { OPTIONS_TEXT_CAPACITY = 64 };

// Names of files, of which Linux takes no more than 4095 bytes; those are rare.
enum { OPTIONS_PATH_CAPACITY = 1024 };

enum option_id {
    OPTION_CLASS,
    OPTION_SIZES,
    OPTION_SHUFFLE,
    OPTION_ITERATIONS,
    OPTION_SECONDS,
    OPTION_WARMUP,
    OPTION_REPEATS,
    OPTION_WINDOW,
    OPTION_BANDWIDTH,
    OPTION_PAIRS,
    OPTION_CROSSWISE,
    OPTION_THREADS,
    OPTION_SYNC,
    OPTION_START,
    OPTION_DIMENSIONS,
    OPTION_NEIGHBOURS,
    OPTION_SEND,
    OPTION_WAYS,
    OPTION_SIDE,
    OPTION_COMPUTE,
    OPTION_IMBALANCE,
    OPTION_COMPUTE_BY,
    OPTION_STREAMS,
    OPTION_SOCKET_BUFFER,
    OPTION_MSS,
    OPTION_MPTCP,
    OPTION_ADDRESS,
    OPTION_PORT,
    OPTION_INTERVAL,
    OPTION_DURATION,
    OPTION_MESSAGES,
    OPTION_MAX_SIZE,
    OPTION_SINGLE,
    OPTION_CHECK,
    OPTION_VOLUME,
    OPTION_SURFACE,
    OPTION_IMAGE,
    OPTION_FRAMES,
    OPTION_PASSES,
    OPTION_DATABASE,
    OPTION_QUERIES,
    OPTION_MAKE_DATABASE,
    OPTION_MAKE_QUERIES,
    OPTION_FRAGMENTS,
    OPTION_OUTPUT,
    OPTION_PATH,
    OPTION_ACCESS,
    OPTION_CACHE,
    OPTION_OPERATION,
    OPTION_FILE_SIZE,
    OPTION_ORDER,
    OPTION_TILES,
    OPTION_TILE,
    OPTION_OVERLAP,
    OPTION_ELEMENT,
    OPTION_CALLS,
    OPTION_CONNECTIONS,
    OPTION_SEED,
    OPTION_PERCENTILES,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_COUNT
};

#define OPTION_BIT(id) (UINT64_C(1) << (id))

// What every program takes that measures the same thing several times.
#define OPTIONS_MEASURE                                                                            \
    (OPTION_BIT(OPTION_ITERATIONS) | OPTION_BIT(OPTION_SECONDS) | OPTION_BIT(OPTION_WARMUP)        \
     | OPTION_BIT(OPTION_REPEATS) | OPTION_BIT(OPTION_PERCENTILES) | OPTION_BIT(OPTION_SEED)       \
     | OPTION_BIT(OPTION_JSON))

// What every program takes that measures files; its path is not optional.
#define OPTIONS_FILES                                                                              \
    (OPTIONS_MEASURE | OPTION_BIT(OPTION_PATH) | OPTION_BIT(OPTION_ACCESS)                         \
     | OPTION_BIT(OPTION_CONNECTIONS))

// The same where content is written and read.
#define OPTIONS_CONTENT                                                                            \
    (OPTIONS_FILES | OPTION_BIT(OPTION_CACHE) | OPTION_BIT(OPTION_OPERATION)                       \
     | OPTION_BIT(OPTION_CHECK))

// The same for messages of several sizes.
#define OPTIONS_SWEEP                                                                              \
    (OPTIONS_MEASURE | OPTION_BIT(OPTION_SIZES) | OPTION_BIT(OPTION_SHUFFLE)                       \
     | OPTION_BIT(OPTION_CHECK))

// Messages of a window, unless a program or --window says otherwise.
#define DEFAULT_WINDOW UINT64_C(64)

// How one-sided operations are completed; in the order of the words of --sync.
enum sync { SYNC_FENCE, SYNC_PSCW, SYNC_LOCK };

// How the ranks come to start a collective operation; in the order of the words of --start.
enum start { START_BARRIER, START_TOGETHER };

// How messages of an exchange are sent; in the order of the words of --send.
enum send { SEND_BLOCKING, SEND_NONBLOCKING };

// Which ways a transfer goes; in the order of the words of --ways.
enum ways { WAYS_BOTH, WAYS_ONE };

// Who computes while a transfer is under way; in the order of the words of --side.
enum side { SIDE_BOTH, SIDE_SENDER, SIDE_RECEIVER };

// Problem sizes of the NAS parallel benchmarks; in the order of the words of --class.
enum problem_class { CLASS_S, CLASS_W, CLASS_A, CLASS_B, CLASS_C };

// What is drawn; in the order of the words of --surface.
enum surface { SURFACE_GYROID, SURFACE_SPHERE };

// How files are reached; in the order of the words of --access.
enum access { ACCESS_MPIIO, ACCESS_POSIX, ACCESS_NFS };

// What is done about the page cache; in the order of the words of --cache.
enum cache { CACHE_DIRECT, CACHE_DROP, CACHE_KEEP };

// What is measured of files; in the order of the words of --operation.
enum operation { OPERATION_BOTH, OPERATION_WRITE, OPERATION_READ };

// Where in a file the next record is; in the order of the words of --order.
enum order { ORDER_SEQUENTIAL, ORDER_RANDOM };

// How ranks call MPI-IO; in the order of the words of --calls.
enum calls { CALLS_INDEPENDENT, CALLS_COLLECTIVE };

// Pixels of a picture; also tiles of a wall of pictures.
struct image_size {
    uint64_t width, height;
};

// What a computation does to its processor; in the order of the words of --compute-by.
enum compute_by { COMPUTE_BY_SPIN, COMPUTE_BY_SLEEP };

struct options {
    int problem_class; // enum problem_class
    size_t sizes[OPTIONS_MAX_SIZES];
    uint64_t size_count;
    uint64_t shuffle; // seed of the order of sizes; meaningful when given
    uint64_t iterations; // 0: automatic
    double seconds;
    uint64_t warmup; // meaningful when given
    uint64_t repeats;
    uint64_t window;
    bool bandwidth;
    uint64_t pairs; // 0: half of the ranks
    bool crosswise;
    uint64_t threads;
    int sync; // enum sync
    int start; // enum start
    uint64_t dimensions; // of the grid of ranks
    uint64_t neighbours; // 0: those of the grid
    int send; // enum send
    int ways; // enum ways
    int side; // enum side
    uint64_t compute; // us; meaningful when given, else what the program chooses
    uint64_t imbalance; // us
    int compute_by; // enum compute_by
    uint64_t streams;
    size_t socket_buffer; // meaningful when given
    uint64_t mss; // meaningful when given
    bool mptcp;
    char address[OPTIONS_TEXT_CAPACITY]; // empty: any
    uint64_t port;
    double interval;
    double duration;
    uint64_t messages;
    size_t max_size;
    size_t single;
    bool check;
    uint64_t volume; // cells along each side
    int surface; // enum surface
    struct image_size image;
    uint64_t frames;
    uint64_t passes;
    char database[OPTIONS_PATH_CAPACITY]; // empty: none given, as with the next
    char queries[OPTIONS_PATH_CAPACITY];
    uint64_t make_database; // proteins
    uint64_t make_queries;
    uint64_t fragments; // meaningful when given
    char output[OPTIONS_PATH_CAPACITY]; // empty: none
    char path[OPTIONS_PATH_CAPACITY]; // a folder, or the URL of one
    int access; // enum access; meaningful when given, else by the path
    int cache; // enum cache; meaningful when given, else by the file system
    int operation; // enum operation
    size_t file_size;
    int order; // enum order
    struct image_size tiles; // of the wall
    struct image_size tile, overlap; // pixels
    uint64_t element; // bytes of a pixel
    int calls; // enum calls
    uint64_t connections;
    uint64_t seed;
    bool percentiles;
    bool json;
    bool help;
    bool version;
    uint64_t given; // OPTION_BITs
};

struct program {
    const char *name;
    const char *purpose;
    const char *usage; // NULL: mpiexec -n RANKS NAME [options]
    uint64_t takes; // OPTION_BITs; help and version are always taken
    const char *default_sizes;
    size_t size_unit; // sizes must be multiples of it; 0: any
    size_t least_size;
    uint64_t default_window; // 0: DEFAULT_WINDOW
    bool needs_threads; // several threads call MPI
};

// The program that is built of a source of several, which has PROGRAM defined.
#define PROGRAM_TEXT(word) #word
#define PROGRAM_TEXT_OF(word) PROGRAM_TEXT(word)
#define PROGRAM_NAME PROGRAM_TEXT_OF(PROGRAM)

#endif
