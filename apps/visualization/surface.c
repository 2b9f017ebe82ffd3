#include "surface.h"

// A cell is cut along its diagonal into six tetrahedra, one for each order of the axes, by the
// corners that one passes from corner 0 to corner 7. Bits of a corner: x, y, z. Cells side by
// side cut their common face alike, so the surface has no holes.
enum { TETRAHEDRA = 6 };
static const int tetrahedra[TETRAHEDRA][4] = {
    {0, 1, 3, 7}, {0, 1, 5, 7}, {0, 2, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 4, 6, 7},
};

struct cell {
    float samples[8];
    struct vertex corners[8];
};

static void set_corner(struct vertex *corner, const struct block *block, const struct field *field,
                       int x, int y, int z)
{
    corner->place[0] = field_position(field, block->first[0] + x);
    corner->place[1] = field_position(field, block->first[1] + y);
    corner->place[2] = field_position(field, block->first[2] + z);
    corner->gradient[0] = block_sample(block, x + 1, y, z) - block_sample(block, x - 1, y, z);
    corner->gradient[1] = block_sample(block, x, y + 1, z) - block_sample(block, x, y - 1, z);
    corner->gradient[2] = block_sample(block, x, y, z + 1) - block_sample(block, x, y, z - 1);
}

// Where the edge between two corners meets the surface. The first is always the one with fewer
// bits, so that the result is the same in each cell with this edge.
static struct vertex crossing(const struct cell *cell, int a, int b)
{
    if (a > b) {
        int other = a;
        a = b;
        b = other;
    }
    double from = cell->samples[a], part = from / (from - (double)cell->samples[b]);
    const struct vertex *first = &cell->corners[a], *second = &cell->corners[b];
    struct vertex vertex;
    for (int d = 0; d < 3; d++) {
        vertex.place[d] = first->place[d] + part * (second->place[d] - first->place[d]);
        vertex.gradient[d] = first->gradient[d] + part * (second->gradient[d] - first->gradient[d]);
    }
    return vertex;
}

static void visit_tetrahedron(const struct cell *cell, const int corners[4],
                              surface_visitor *visit, void *state)
{
    int below[4], above[4], below_count = 0, above_count = 0;
    for (int i = 0; i < 4; i++) {
        if (cell->samples[corners[i]] < 0.0f)
            below[below_count++] = corners[i];
        else
            above[above_count++] = corners[i];
    }
    if (below_count == 0 || above_count == 0)
        return;
    if (below_count == 2) {
        // Edges in the order in which the surface meets them.
        struct vertex around[4] = {
            crossing(cell, below[0], above[0]), crossing(cell, below[0], above[1]),
            crossing(cell, below[1], above[1]), crossing(cell, below[1], above[0])};
        visit(&(struct triangle){{around[0], around[1], around[2]}}, state);
        visit(&(struct triangle){{around[0], around[2], around[3]}}, state);
        return;
    }
    int alone = below_count == 1 ? below[0] : above[0];
    const int *others = below_count == 1 ? above : below;
    visit(&(struct triangle){{crossing(cell, alone, others[0]), crossing(cell, alone, others[1]),
                              crossing(cell, alone, others[2])}},
          state);
}

static bool read_samples(const struct block *block, int x, int y, int z, float samples[8])
{
    int below = 0;
    for (int i = 0; i < 8; i++) {
        samples[i] = block_sample(block, x + (i & 1), y + (i >> 1 & 1), z + (i >> 2));
        below += samples[i] < 0.0f;
    }
    return below != 0 && below != 8;
}

void surface_extract(const struct block *block, const struct field *field, surface_visitor *visit,
                     void *state)
{
    struct cell cell;
    for (int z = 0; z < block->cells[2]; z++)
        for (int y = 0; y < block->cells[1]; y++)
            for (int x = 0; x < block->cells[0]; x++) {
                if (!read_samples(block, x, y, z, cell.samples))
                    continue;
                for (int i = 0; i < 8; i++)
                    set_corner(&cell.corners[i], block, field, x + (i & 1), y + (i >> 1 & 1),
                               z + (i >> 2));
                for (int t = 0; t < TETRAHEDRA; t++)
                    visit_tetrahedron(&cell, tetrahedra[t], visit, state);
            }
}
