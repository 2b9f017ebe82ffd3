// FT: a partial differential equation solved by three-dimensional Fourier transforms.
// RNR-94-007, kernel FT; the decomposition into slabs and its transposition: NAS-95-020.
#include "fft.h"
#include "ft_problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
static const double ALPHA = 1e-6; // diffusion, RNR-94-007

enum { CHECKSUM_ELEMENTS = 1024 };

// In space a rank has a slab of `planes` values of z, in pieces by which rank gets them: a piece is
// [z][y][x] with `strips` values of y. Of the spectrum it has the slab of its `strips` values of y,
// [z][y][x] with all z. So the pieces that an alltoall brings lie where they belong, both ways,
// and nothing else has to move data.
struct ft {
    const struct ft_problem *problem;
    int rank, ranks;
    int planes, strips; // of z in space, of y in the spectrum
    size_t elements; // of this rank
    double complex *spectrum; // of the initial state
    double complex *evolved; // spectrum of a later one; with one rank the same memory as `space`
    double complex *space;
    struct fft along_x, along_y, along_z;
    size_t *rows; // where the rows of a plane start in space, by y, in the first plane
    size_t *columns; // where a column in z has its elements in the spectrum
    double *decay_x, *decay_y, *decay_z; // factors of the spectrum, by index
    double complex checksums[FT_MAX_ITERATIONS];
};

static struct ft state;

static double complex *allocate_complex(size_t count)
{
    return allocate(count * sizeof(double complex));
}

static void create(struct app *app)
{
    struct ft *ft = &state;
    const struct ft_problem *p = ft->problem = &ft_problems[nas_class(app)];
    ft->rank = app->session.rank;
    ft->ranks = app->session.ranks;
    ft->planes = p->nz / ft->ranks;
    ft->strips = p->ny / ft->ranks;
    size_t nx = (size_t)p->nx, strips = (size_t)ft->strips;
    ft->elements = (size_t)ft->planes * (size_t)p->ny * nx;
    ft->spectrum = allocate_complex(ft->elements);
    ft->space = allocate_complex(ft->elements);
    ft->evolved = ft->ranks > 1 ? allocate_complex(ft->elements) : ft->space;
    fft_create(&ft->along_x, p->nx);
    fft_create(&ft->along_y, p->ny);
    fft_create(&ft->along_z, p->nz);

    ft->rows = allocate((size_t)p->ny * sizeof *ft->rows);
    for (size_t y = 0; y < (size_t)p->ny; y++)
        ft->rows[y] = (y / strips * (size_t)ft->planes * strips + y % strips) * nx;
    ft->columns = allocate((size_t)p->nz * sizeof *ft->columns);
    for (size_t z = 0; z < (size_t)p->nz; z++)
        ft->columns[z] = z * strips * nx;
    ft->decay_x = allocate(nx * sizeof(double));
    ft->decay_y = allocate((size_t)p->ny * sizeof(double));
    ft->decay_z = allocate((size_t)p->nz * sizeof(double));
}

// From one plane of z in space to the next.
static size_t plane_stride(const struct ft *ft)
{
    return (size_t)ft->strips * (size_t)ft->problem->nx;
}

static void transpose(const struct ft *ft, const double complex *from, double complex *to)
{
    // A rank alone has both slabs, in the same order.
    if (ft->ranks == 1)
        return;
    int piece = (int)(ft->elements / (size_t)ft->ranks);
    comm_alltoall(from, piece, MPI_C_DOUBLE_COMPLEX, to, piece, MPI_C_DOUBLE_COMPLEX,
                  MPI_COMM_WORLD);
}

static void transform_x(struct ft *ft, double complex *plane, enum fft_direction direction)
{
    for (int y = 0; y < ft->problem->ny; y += FFT_LINES) {
        fft_load_rows(&ft->along_x, plane, ft->rows + y);
        fft_transform(&ft->along_x, direction);
        fft_store_rows(&ft->along_x, plane, ft->rows + y);
    }
}

static void transform_y(struct ft *ft, double complex *plane, enum fft_direction direction)
{
    for (int x = 0; x < ft->problem->nx; x += FFT_LINES) {
        fft_load_columns(&ft->along_y, plane + x, ft->rows);
        fft_transform(&ft->along_y, direction);
        fft_store_columns(&ft->along_y, plane + x, ft->rows);
    }
}

// Both within a plane, while that is in a cache.
static void transform_planes(struct ft *ft, enum fft_direction direction)
{
    for (int z = 0; z < ft->planes; z++) {
        double complex *plane = ft->space + (size_t)z * plane_stride(ft);
        transform_x(ft, plane, direction);
        transform_y(ft, plane, direction);
    }
}

// Random complex numbers, x running fastest, then y, then z.
static void set_initial_state(struct ft *ft)
{
    int ny = ft->problem->ny, nx = ft->problem->nx;
    uint64_t numbers = 2 * (uint64_t)nx * (uint64_t)ny * (uint64_t)ft->planes;
    uint64_t random = lcg_jump(LCG_SEED, LCG_A, (uint64_t)ft->rank * numbers);
    for (int z = 0; z < ft->planes; z++)
        for (int y = 0; y < ny; y++) {
            double *row = (double *)(ft->space + (size_t)z * plane_stride(ft) + ft->rows[y]);
            for (int i = 0; i < 2 * nx; i++)
                row[i] = lcg_next(&random, LCG_A);
        }
}

static void transform_initial_state(struct ft *ft)
{
    transform_planes(ft, FFT_FORWARD);
    transpose(ft, ft->space, ft->spectrum);
    const double complex *from = ft->ranks > 1 ? ft->spectrum : ft->space;
    for (size_t column = 0; column < plane_stride(ft); column += FFT_LINES) {
        fft_load_columns(&ft->along_z, from + column, ft->columns);
        fft_transform(&ft->along_z, FFT_FORWARD);
        fft_store_columns(&ft->along_z, ft->spectrum + column, ft->columns);
    }
}

// exp(-4 alpha pi^2 k^2 t) of the indices `first` and after, where the upper half of the n indices
// stand for negative wave numbers.
static void set_decay(double *decay, int first, int count, int n, int time)
{
    for (int i = 0; i < count; i++) {
        double k = first + i < n / 2 ? first + i : first + i - n;
        decay[i] = exp(-4.0 * ALPHA * PI * PI * k * k * time);
    }
}

// The factor of an element is the product of one by each index. It multiplies the block, since the
// elements of a column are so far apart that a cache keeps few of them.
static void evolve_block(struct ft *ft, int y, int x)
{
    struct fft *block = &ft->along_z;
    double across[FFT_LINES];
    for (int line = 0; line < FFT_LINES; line++)
        across[line] = ft->decay_y[y] * ft->decay_x[x + line];
    for (int z = 0; z < block->length; z++)
        for (int line = 0; line < FFT_LINES; line++) {
            double factor = ft->decay_z[z] * across[line];
            block->real[z * FFT_LINES + line] *= factor;
            block->imaginary[z * FFT_LINES + line] *= factor;
        }
}

// The state at a time, in space.
static void evolve(struct ft *ft, int time)
{
    const struct ft_problem *p = ft->problem;
    set_decay(ft->decay_x, 0, p->nx, p->nx, time);
    set_decay(ft->decay_y, ft->rank * ft->strips, ft->strips, p->ny, time);
    set_decay(ft->decay_z, 0, p->nz, p->nz, time);
    for (int y = 0; y < ft->strips; y++)
        for (int x = 0; x < p->nx; x += FFT_LINES) {
            size_t column = (size_t)y * (size_t)p->nx + (size_t)x;
            fft_load_columns(&ft->along_z, ft->spectrum + column, ft->columns);
            evolve_block(ft, y, x);
            fft_transform(&ft->along_z, FFT_INVERSE);
            fft_store_columns(&ft->along_z, ft->evolved + column, ft->columns);
        }
    transpose(ft, ft->evolved, ft->space);
    transform_planes(ft, FFT_INVERSE);
}

static double complex checksum(const struct ft *ft)
{
    const struct ft_problem *p = ft->problem;
    double complex own = 0.0, sum = 0.0;
    for (int j = 1; j <= CHECKSUM_ELEMENTS; j++) {
        int x = j % p->nx, y = 3 * j % p->ny, z = 5 * j % p->nz - ft->rank * ft->planes;
        if (z >= 0 && z < ft->planes)
            own += ft->space[(size_t)z * plane_stride(ft) + ft->rows[y] + (size_t)x];
    }
    comm_reduce(&own, &sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, 0, MPI_COMM_WORLD);
    // The inverse transform divides by the number of elements.
    return sum / ((double)p->nx * p->ny * p->nz);
}

// Makes connections and touches memory before the clock runs.
static void prepare(struct app *app)
{
    (void)app;
    struct ft *ft = &state;
    memset(ft->spectrum, 0, ft->elements * sizeof *ft->spectrum);
    memset(ft->evolved, 0, ft->elements * sizeof *ft->evolved);
    memset(ft->space, 0, ft->elements * sizeof *ft->space);
    transpose(ft, ft->evolved, ft->space);
}

static void run(struct app *app)
{
    (void)app;
    struct ft *ft = &state;
    set_initial_state(ft);
    transform_initial_state(ft);
    for (int i = 0; i < ft->problem->iterations; i++) {
        evolve(ft, i + 1);
        ft->checksums[i] = checksum(ft);
    }
}

// Tells the checksum whose real part is the farthest off, then the same for the imaginary part, so
// that all fit when these do.
static void expect_part(struct app *app, char *name, size_t capacity, const char *part,
                        double (*of)(double complex))
{
    const struct ft_problem *p = state.problem;
    int worst = 0;
    double worst_error = -1.0;
    for (int i = 0; i < p->iterations; i++) {
        double error = fabs(of(state.checksums[i]) / of(p->checksums[i]) - 1.0);
        // Not the opposite comparison: what is no number is the worst.
        if (!(error <= worst_error)) {
            worst = i;
            worst_error = error;
        }
    }
    snprintf(name, capacity, "checksum %d, %s part", worst + 1, part);
    app_expect(app, name, of(state.checksums[worst]), of(p->checksums[worst]), 1e-12);
}

static void verify(struct app *app)
{
    static char real[32], imaginary[32];
    MPI_Bcast(state.checksums, FT_MAX_ITERATIONS, MPI_C_DOUBLE_COMPLEX, 0, MPI_COMM_WORLD);
    expect_part(app, real, sizeof real, "real", creal);
    expect_part(app, imaginary, sizeof imaginary, "imaginary", cimag);
}

static void destroy(struct app *app)
{
    (void)app;
    struct ft *ft = &state;
    if (ft->evolved != ft->space)
        free(ft->evolved);
    free(ft->space);
    free(ft->spectrum);
    free(ft->rows);
    free(ft->columns);
    free(ft->decay_x);
    free(ft->decay_y);
    free(ft->decay_z);
    fft_destroy(&ft->along_x);
    fft_destroy(&ft->along_y);
    fft_destroy(&ft->along_z);
}

static const char *ranks_needed(const struct app *app)
{
    const struct ft_problem *p = &ft_problems[nas_class(app)];
    int most = p->ny < p->nz ? p->ny : p->nz;
    return nas_power_of_two_up_to(app, most);
}

static uint64_t memory(const struct app *app)
{
    const struct ft_problem *p = &ft_problems[nas_class(app)];
    uint64_t all = (uint64_t)p->nx * (uint64_t)p->ny * (uint64_t)p->nz;
    uint64_t arrays = app->session.ranks > 1 ? 3 : 2;
    return arrays * sizeof(double complex) * all / (uint64_t)app->session.ranks;
}

static void describe(const struct app *app, char *text, size_t capacity)
{
    const struct ft_problem *p = &ft_problems[nas_class(app)];
    snprintf(text, capacity, "%d x %d x %d, %d iterations", p->nx, p->ny, p->nz, p->iterations);
}

const struct app_kernel app_kernel = {
    .program = &(const struct program){
        .name = "ft",
        .purpose = "NAS FT: 3D Fourier transforms with an alltoall; run time in s",
        .takes = NAS_TAKES,
    },
    .ranks_needed = ranks_needed,
    .memory = memory,
    .describe = describe,
    .create = create,
    .prepare = prepare,
    .run = run,
    .verify = verify,
    .destroy = destroy,
};
