// Every rank writes and reads a tile of a two-dimensional picture: pieces with gaps between them.
#include "io_content.h"
#include "io_mpi.h"
#include "io_rounds.h"
#include "io_tile_wall.h"

#include <inttypes.h>

static const struct program program = {
    .name = "io_tile",
    .purpose = "all ranks write, then read a tile of one picture each, in MB/s of all",
    .takes = OPTIONS_CONTENT | OPTION_BIT(OPTION_TILES) | OPTION_BIT(OPTION_TILE)
        | OPTION_BIT(OPTION_OVERLAP) | OPTION_BIT(OPTION_ELEMENT) | OPTION_BIT(OPTION_CALLS),
    .default_sizes = "0",
};

struct tile {
    struct io_rounds rounds; // first: it is what the rounds know
    struct wall wall;
};

static const struct wall *wall_in(const struct io_rounds *rounds)
{
    return &((const struct tile *)rounds)->wall;
}

// By MPI-IO one call moves the whole tile: the view of the file has no gaps.
static const char *move_in_view(struct io_rounds *rounds)
{
    MPI_File file = *io_mpi_handle(&rounds->file);
    bool collective = rounds->io->session->options.calls == CALLS_COLLECTIVE;
    int (*write)(MPI_File, MPI_Offset, const void *, int, MPI_Datatype, MPI_Status *) =
        collective ? MPI_File_write_at_all : MPI_File_write_at;
    int (*read)(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *) =
        collective ? MPI_File_read_at_all : MPI_File_read_at;
    int size = (int)rounds->size;
    MPI_Status status;
    int code = rounds->writes ? write(file, 0, rounds->buffer.bytes, size, MPI_BYTE, &status)
                              : read(file, 0, rounds->buffer.bytes, size, MPI_BYTE, &status);
    return io_mpi_done(code, &status, rounds->size);
}

// Otherwise a call moves a row.
static const char *move_rows(struct io_rounds *rounds)
{
    const struct wall *wall = wall_in(rounds);
    const struct io_access *access = rounds->io->access;
    const char *why = NULL;
    for (uint64_t row = 0; why == NULL && row < wall->tile_rows; row++) {
        unsigned char *bytes = rounds->buffer.bytes + row * wall->tile_row_bytes;
        uint64_t offset = wall->first + row * wall->row_bytes;
        why = rounds->writes
            ? access->write(&rounds->file, 0, bytes, wall->tile_row_bytes, offset)
            : access->read(&rounds->file, 0, bytes, wall->tile_row_bytes, offset);
    }
    return why;
}

static void move(struct io_rounds *rounds)
{
    bool mpi = rounds->io->session->options.access == ACCESS_MPIIO;
    io_expect(rounds->io, mpi ? move_in_view(rounds) : move_rows(rounds),
              rounds->writes ? "write to" : "read from", rounds->file.path);
}

static void each_row(struct io_rounds *rounds,
                     void (*work)(unsigned char *, uint64_t seed, uint64_t offset, size_t size))
{
    const struct wall *wall = wall_in(rounds);
    for (uint64_t row = 0; row < wall->tile_rows; row++)
        work(rounds->buffer.bytes + row * wall->tile_row_bytes,
             rounds->io->session->options.seed, wall->first + row * wall->row_bytes,
             wall->tile_row_bytes);
}

static void fill(struct io_rounds *rounds)
{
    each_row(rounds, io_content_fill);
}

static void poison(struct io_rounds *rounds)
{
    each_row(rounds, io_content_poison);
}

static void verify_tile(struct io_rounds *rounds)
{
    const struct wall *wall = wall_in(rounds);
    for (uint64_t row = 0; row < wall->tile_rows; row++)
        io_verify(&rounds->file, rounds->buffer.bytes + row * wall->tile_row_bytes,
                  wall->first + row * wall->row_bytes, wall->tile_row_bytes);
}

static void set_view(struct tile *tile)
{
    const struct wall *wall = &tile->wall;
    MPI_Datatype type;
    MPI_Type_vector((int)wall->tile_rows, (int)wall->tile_row_bytes, (int)wall->row_bytes,
                    MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_File file = *io_mpi_handle(&tile->rounds.file);
    MPI_File_set_view(file, (MPI_Offset)wall->first, MPI_BYTE, type, "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
}

static void opened(struct io_rounds *rounds)
{
    if (rounds->io->session->options.access == ACCESS_MPIIO)
        set_view((struct tile *)rounds);
}

static void check_wall(const struct session *session, const struct wall *wall)
{
    const struct options *options = &session->options;
    if (options->overlap.width >= options->tile.width
        || options->overlap.height >= options->tile.height)
        session_refuse(session, "--overlap: %" PRIu64 "x%" PRIu64
                       "; allowed: less than a tile, %" PRIu64 "x%" PRIu64,
                       options->overlap.width, options->overlap.height, options->tile.width,
                       options->tile.height);
    // MPI counts bytes of a tile, and of a row of the wall, in an `int`.
    if (wall->tile_row_bytes * wall->tile_rows > INT32_MAX)
        session_refuse(session, "--tile: %" PRIu64 " bytes; allowed: at most %d",
                       wall->tile_row_bytes * wall->tile_rows, INT32_MAX);
    if (wall->row_bytes > INT32_MAX)
        session_refuse(session, "--tiles: rows of %" PRIu64 " bytes; allowed: at most %d",
                       wall->row_bytes, INT32_MAX);
}

int main(int argc, char **argv)
{
    struct benchmark benchmark = {
        .method = "A tile of one picture for each rank, all at once; of all ranks",
    };
    struct session session;
    struct io io;
    struct tile tile = {.rounds = {.move = move, .fill = fill, .poison = poison,
                                   .verify = verify_tile, .opened = opened}};
    io_guard();
    session_start(&session, &program, argc, argv);
    tile.wall = wall_of(&session.options, session.rank);
    check_wall(&session, &tile.wall);
    session.options.sizes[0] = (size_t)(tile.wall.tile_row_bytes * tile.wall.tile_rows);
    uint64_t places = tile.wall.tile_row_bytes | tile.wall.row_bytes | tile.wall.first;
    io_start(&io, &session, places, tile.wall.row_bytes * tile.wall.height);
    return io_rounds_program(&io, &tile.rounds, &benchmark);
}
