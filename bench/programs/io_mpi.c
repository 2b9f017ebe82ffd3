// Files by the MPI-IO of the stack.
#include "io_mpi.h"

#include "buffer.h"
#include "io_posix.h"

#include <stdlib.h>

static const char *reason(int code)
{
    static char text[MPI_MAX_ERROR_STRING];
    if (code == MPI_SUCCESS)
        return NULL;
    int length;
    MPI_Error_string(code, text, &length);
    return text;
}

static const char *create_file(struct io *io, const char *path)
{
    (void)io;
    MPI_File file;
    int mode = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY;
    int code = MPI_File_open(MPI_COMM_SELF, path, mode, MPI_INFO_NULL, &file);
    return reason(code != MPI_SUCCESS ? code : MPI_File_close(&file));
}

// MPI-IO cannot ask for anything without opening.
static const char *stat_file(struct io *io, const char *path)
{
    (void)io;
    MPI_File file;
    MPI_Offset size;
    int code = MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (code != MPI_SUCCESS)
        return reason(code);
    code = MPI_File_get_size(file, &size);
    MPI_File_close(&file);
    return reason(code);
}

static const char *remove_file(struct io *io, const char *path)
{
    (void)io;
    return reason(MPI_File_delete(path, MPI_INFO_NULL));
}

static const char *open_file(struct io_file *file)
{
    const char *why = io_posix_open(file);
    if (why != NULL)
        return why;
    file->own = allocate(sizeof(MPI_File));
    return reason(MPI_File_open(MPI_COMM_WORLD, file->path, MPI_MODE_RDWR, MPI_INFO_NULL,
                                io_mpi_handle(file)));
}

static void close_file(struct io_file *file)
{
    MPI_File_close(io_mpi_handle(file));
    free(file->own);
    io_posix_close(file);
}

const char *io_mpi_done(int code, const MPI_Status *status, size_t size)
{
    int count;
    if (code != MPI_SUCCESS)
        return reason(code);
    MPI_Get_count(status, MPI_BYTE, &count);
    return (size_t)count == size ? NULL : io_end_of_file;
}

MPI_File *io_mpi_handle(const struct io_file *file)
{
    return file->own;
}

static const char *write_bytes(struct io_file *file, uint64_t thread, const unsigned char *bytes,
                               size_t size, uint64_t offset)
{
    (void)thread;
    MPI_Status status;
    int code = MPI_File_write_at(*io_mpi_handle(file), (MPI_Offset)offset, bytes, (int)size,
                                 MPI_BYTE, &status);
    return io_mpi_done(code, &status, size);
}

static const char *read_bytes(struct io_file *file, uint64_t thread, unsigned char *bytes,
                              size_t size, uint64_t offset)
{
    (void)thread;
    MPI_Status status;
    int code = MPI_File_read_at(*io_mpi_handle(file), (MPI_Offset)offset, bytes, (int)size,
                                MPI_BYTE, &status);
    return io_mpi_done(code, &status, size);
}

const struct io_access io_mpi = {
    .name = "MPI-IO",
    .root = io_posix_root,
    .make_folder = io_posix_make_folder,
    .remove_folder = io_posix_remove_folder,
    .create = create_file,
    .stat = stat_file,
    .remove = remove_file,
    .open = open_file,
    .close = close_file,
    .write = write_bytes,
    .read = read_bytes,
};
