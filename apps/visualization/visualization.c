// Visualization of a volume that is distributed over the ranks: its isosurface as it is seen from
// a view that moves. After the application of Liu, Vishnu and Panda, "Building Multirail
// InfiniBand Clusters" (SC 2004), section 6.2, and what it says it is made of: Gao and Shen,
// "Parallel View-Dependent Isosurface Extraction Using Multi-Pass Occlusion Culling" (2001).
//
// Of each picture the ranks draw their blocks in passes from front to back. After each pass the
// images become one, and what is hidden behind it is not extracted any more.
#include "alone.h"
#include "app.h"
#include "compositing.h"
#include "output.h"
#include "png.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
    uint64_t crossed, drawn; // blocks
    uint64_t triangles;
};

struct visualization {
    struct field field;
    struct block *blocks; // this rank's
    size_t block_count;
    struct extent *extents; // of the blocks that are crossed, in a frame
    struct image image; // what this rank has drawn in a pass
    struct image picture; // rank 0: the last one
    struct occlusion occlusion;
    struct compositing compositing;
    struct counts counts; // of a run; after it, of all ranks
    FILE *output; // rank 0; NULL: none
};

static struct visualization state;

static int width_of(const struct app *app)
{
    return (int)app->session.options.image.width;
}

static int height_of(const struct app *app)
{
    return (int)app->session.options.image.height;
}

static void describe(const struct app *app, char *text, size_t capacity)
{
    const struct options *options = &app->session.options;
    snprintf(text, capacity, "%s in %d^3 cells, %d frame%s of %dx%d pixels, %d pass%s each",
             options->surface == SURFACE_SPHERE ? "sphere" : "gyroid", (int)options->volume,
             (int)options->frames, options->frames == 1 ? "" : "s", width_of(app), height_of(app),
             (int)options->passes, options->passes == 1 ? "" : "es");
}

static uint64_t memory(const struct app *app)
{
    uint64_t side = (app->session.options.volume + BLOCK_CELLS - 1) / BLOCK_CELLS;
    uint64_t ranks = (uint64_t)app->session.ranks;
    uint64_t blocks = (side * side * side + ranks - 1) / ranks
        * (sizeof(struct block) + sizeof(struct extent));
    uint64_t image = image_bytes(width_of(app), height_of(app));
    // Rank 0 has the picture, and one that it draws alone.
    return blocks + image + compositing_bytes(width_of(app), height_of(app), app->session.ranks)
        + (app->session.rank == 0 ? 2 * image : 0);
}

static void count_own(const int place[3], void *app)
{
    const struct session *session = &((const struct app *)app)->session;
    state.block_count += block_owner(place, session->ranks) == session->rank;
}

static void fill_own(const int place[3], void *app)
{
    const struct session *session = &((const struct app *)app)->session;
    if (block_owner(place, session->ranks) == session->rank)
        block_fill(&state.blocks[state.block_count++], &state.field, place);
}

static void create(struct app *app)
{
    const struct options *options = &app->session.options;
    state.output = output_open(&app->session);
    state.field = field_create(options->surface, (int)options->volume);
    block_each(&state.field, count_own, app);
    state.blocks = allocate(state.block_count * sizeof(struct block));
    state.extents = allocate(state.block_count * sizeof(struct extent));
    state.block_count = 0;
    block_each(&state.field, fill_own, app);
    state.image = image_create(width_of(app), height_of(app));
    if (app->session.rank == 0)
        state.picture = image_create(width_of(app), height_of(app));
    else // its sizes alone
        state.picture = (struct image){state.image.width, state.image.height, state.image.stride,
                                       state.image.rows, NULL};
    state.occlusion = occlusion_create(&state.image);
    state.compositing =
        compositing_create(&state.image, app->session.rank, app->session.ranks);
}

// Extents of this rank's blocks, and the distances of what there is to see, over all ranks.
static void find_extents(const struct view *view, double range[2])
{
    double ends[2] = {INFINITY, INFINITY}; // nearest, and farthest negated
    for (size_t i = 0; i < state.block_count; i++) {
        if (!state.blocks[i].crossed)
            continue;
        struct extent *extent = &state.extents[i];
        *extent = drawing_extent(&state.blocks[i], &state.field, view, &state.image);
        ends[0] = fmin(ends[0], extent->nearest);
        ends[1] = fmin(ends[1], -extent->farthest);
    }
    comm_allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    range[0] = ends[0];
    range[1] = -ends[1];
}

static int pass_of(double distance, const double range[2], int passes)
{
    int pass = (int)((distance - range[0]) / (range[1] - range[0]) * passes);
    return pass < passes ? pass : passes - 1;
}

// Whether this rank has drawn anything.
static bool draw_pass(const struct view *view, const double range[2], int pass, int passes)
{
    bool drawn = false;
    for (size_t i = 0; i < state.block_count; i++) {
        const struct block *block = &state.blocks[i];
        const struct extent *extent = &state.extents[i];
        if (!block->crossed || pass_of(extent->nearest, range, passes) != pass)
            continue;
        state.counts.crossed++;
        if (occlusion_hides(&state.occlusion, extent))
            continue;
        state.counts.drawn++;
        state.counts.triangles += drawing_block(block, &state.field, view, &state.image);
        drawn = true;
    }
    return drawn;
}

static void draw_frame(const struct view *view, int passes)
{
    double range[2];
    find_extents(view, range);
    occlusion_clear(&state.occlusion);
    compositing_clear(&state.compositing, &state.image);
    for (int pass = 0; pass < passes; pass++) {
        int drawn = draw_pass(view, range, pass, passes);
        comm_allreduce(MPI_IN_PLACE, &drawn, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (!drawn)
            continue;
        compositing_add(&state.compositing, &state.image);
        image_clear(&state.image);
        if (pass < passes - 1)
            compositing_share(&state.compositing, &state.image, &state.occlusion);
    }
    compositing_gather(&state.compositing, &state.picture);
}

static struct view view_of(const struct app *app, uint64_t frame)
{
    return view_create(width_of(app), height_of(app), frame);
}

static void run(struct app *app)
{
    const struct options *options = &app->session.options;
    state.counts = (struct counts){0};
    for (uint64_t frame = 0; frame < options->frames; frame++) {
        struct view view = view_of(app, frame);
        draw_frame(&view, (int)options->passes);
    }
}

// The last picture drawn again by rank 0: whether it is the same, and what the formula gives at
// corners of triangles, at most.
static bool compare_alone(const struct app *app, double *greatest)
{
    struct image image = image_create(width_of(app), height_of(app));
    struct view view = view_of(app, app->session.options.frames - 1);
    *greatest = alone_draw(&state.field, &view, &image);
    bool same = memcmp(image.pixels, state.picture.pixels,
                       image_bytes(width_of(app), height_of(app))) == 0;
    image_destroy(&image);
    return same;
}

// The circle as which a sphere is seen. The surface's corners lie on it, but its triangles
// inside, by as much as an eighth of a cell's diagonal squared over the radius.
static void verify_silhouette(struct app *app, double pixels)
{
    const double pi = 3.14159265358979323846;
    struct view view = view_of(app, 0);
    double radius = field_radius * view.pixels, diagonal = sqrt(3.0) * state.field.step;
    double flat = 2.0 * diagonal * diagonal / (8.0 * field_radius * field_radius);
    app_expect(app, "silhouette, pixels", pixels, pi * radius * radius, 2.0 * flat + 1.0 / radius);
}

static void verify(struct app *app)
{
    uint64_t counts[] = {state.counts.crossed, state.counts.drawn, state.counts.triangles};
    MPI_Allreduce(MPI_IN_PLACE, counts, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    state.counts = (struct counts){counts[0], counts[1], counts[2]};
    int same = 0;
    double values[2] = {0.0, 0.0};
    if (app->session.rank == 0) {
        same = compare_alone(app, &values[0]);
        values[1] = (double)image_covered(&state.picture);
    }
    MPI_Bcast(&same, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(values, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    app_expect_true(app, "as by one rank", same);
    app_expect_most(app, "formula at corners", values[0], field_error_bound(&state.field));
    if (app->session.options.surface == SURFACE_SPHERE)
        verify_silhouette(app, values[1]);
}

static void tell(const struct app *app)
{
    (void)app;
    const struct counts *counts = &state.counts;
    uint64_t hidden = counts->crossed - counts->drawn;
    printf("Blocks with surface  %12" PRIu64 "\n", counts->crossed);
    printf("Hidden, left out     %12" PRIu64 "  %.1f %%\n", hidden,
           100.0 * (double)hidden / (double)(counts->crossed > 0 ? counts->crossed : 1));
    printf("Triangles            %12" PRIu64 "\n", counts->triangles);
}

static uint32_t colour_at(const void *picture, int x, int y)
{
    const struct image *image = picture;
    return image_colour_of(image->pixels[(size_t)y * (size_t)image->stride + (size_t)x]);
}

static void save(struct app *app, struct trouble *trouble)
{
    if (state.output == NULL)
        return;
    png_write(state.output, width_of(app), height_of(app), colour_at, &state.picture);
    output_close(state.output, &app->session, trouble);
}

static void destroy(struct app *app)
{
    compositing_destroy(&state.compositing);
    occlusion_destroy(&state.occlusion);
    image_destroy(&state.image);
    if (app->session.rank == 0)
        image_destroy(&state.picture);
    free(state.blocks);
    free(state.extents);
    field_destroy(&state.field);
}

const struct app_kernel app_kernel = {
    .program = &(const struct program){
        .name = "visualization",
        .purpose = "an isosurface, composited by binary swap; run time in s",
        .takes = APP_TAKES | OPTION_BIT(OPTION_VOLUME) | OPTION_BIT(OPTION_SURFACE)
            | OPTION_BIT(OPTION_IMAGE) | OPTION_BIT(OPTION_FRAMES)
            | OPTION_BIT(OPTION_PASSES) | OPTION_BIT(OPTION_OUTPUT),
    },
    .memory = memory,
    .describe = describe,
    .create = create,
    .run = run,
    .verify = verify,
    .tell = tell,
    .save = save,
    .destroy = destroy,
};
