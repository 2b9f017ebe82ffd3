// Every rank writes and reads a region of its own, one piece, all at once.
#include "io_content.h"
#include "io_rounds.h"

static const struct program program = {
    .name = "io_contiguous",
    .purpose = "all ranks write, then read a region of one file each, in MB/s of all",
    .takes = OPTIONS_CONTENT | OPTION_BIT(OPTION_SIZES),
    .default_sizes = "256K",
    .least_size = 1,
};

static uint64_t offset_of(const struct io_rounds *rounds)
{
    return (uint64_t)rounds->io->session->rank * rounds->size;
}

static void move(struct io_rounds *rounds)
{
    struct io *io = rounds->io;
    struct io_file *file = &rounds->file;
    uint64_t offset = offset_of(rounds);
    if (rounds->writes)
        io_expect(io, io->access->write(file, 0, rounds->buffer.bytes, rounds->size, offset),
                  "write to", file->path);
    else
        io_expect(io, io->access->read(file, 0, rounds->buffer.bytes, rounds->size, offset),
                  "read from", file->path);
}

static void fill(struct io_rounds *rounds)
{
    io_content_fill(rounds->buffer.bytes, rounds->io->session->options.seed, offset_of(rounds),
                    rounds->size);
}

static void poison(struct io_rounds *rounds)
{
    io_content_poison(rounds->buffer.bytes, rounds->io->session->options.seed, offset_of(rounds),
                      rounds->size);
}

static void verify_region(struct io_rounds *rounds)
{
    io_verify(&rounds->file, rounds->buffer.bytes, offset_of(rounds), rounds->size);
}

static size_t greatest(const struct options *options)
{
    size_t size = 0;
    for (uint64_t i = 0; i < options->size_count; i++)
        size = options->sizes[i] > size ? options->sizes[i] : size;
    return size;
}

int main(int argc, char **argv)
{
    struct benchmark benchmark = {
        .method = "A region of one file for each rank, all at once; of all ranks",
    };
    struct session session;
    struct io io;
    struct io_rounds rounds = {
        .move = move, .fill = fill, .poison = poison, .verify = verify_region};
    io_guard();
    session_start(&session, &program, argc, argv);
    io_start(&io, &session, io_sizes(&session.options),
             greatest(&session.options) * (uint64_t)session.ranks);
    return io_rounds_program(&io, &rounds, &benchmark);
}
