/*
 * generate_grid.c - "grid:rows=4096,kind=box,dofs=3": meshes of finite differences and finite elements.
 *
 * Vertex v stands at x = v mod width, y = v / width mod height, z = v / (width * height), as a mesh is
 * numbered line by line. A row holds the vertex itself and its neighbours:
 *   cross      along the axes: the 5-point stencil, 7-point in three dimensions
 *   triangles  also (1, 1) and (-1, -1): a triangulation, 6 neighbours; tetrahedra, 14 in three dimensions
 *   box        all around: 8 neighbours, 26 in three dimensions
 * With several unknowns a vertex (dofs) each of its rows holds all unknowns of these vertices: blocks,
 * as displacements in x, y and z have them. Beyond the edges is nothing.
 */
#include "matrix/generate.h"
#include "matrix/pattern.h"

#include <math.h>

enum key { ROWS, KIND, WIDTH, HEIGHT, DOFS, LOOPS, NNZ, SEED };
enum kind { CROSS, TRIANGLES, BOX };
enum { MOST_DOFS = 64, MOST_NEIGHBOURS = 27 };

static const char *const kinds[] = {"cross", "triangles", "box", NULL};

static const generator_key keys[] = {
    [ROWS] = {"rows", "rows and columns (default 4096)", 0, LARGEST_SIDE, true, NULL},
    [KIND] = {"kind", "cross (default), triangles, box", 0, 0, false, kinds},
    [WIDTH] = {"width", "vertices in x (default: a square's)", 1, LARGEST_SIDE, true, NULL},
    [HEIGHT] = {"height", "vertices in y (default: one layer)", 1, LARGEST_SIDE, true, NULL},
    [DOFS] = {"dofs", "unknowns a vertex (default 1)", 1, MOST_DOFS, true, NULL},
    [LOOPS] = {"loops", "1 (default): with the vertex itself; 0: without", 0, 1, true, NULL},
    [NNZ] = {"nnz", "nonzeros: so many of them (default: all)", 0, LARGEST_SEED, true, NULL},
    [SEED] = {"seed", "seed (default 1)", 0, LARGEST_SEED, true, NULL},
};

typedef struct mesh {
    int64_t rows, width, height, layers; /* layers: enough for all rows; 1 in two dimensions */
    int dofs;
    enum kind kind;
    bool loops;
} mesh;

static bool is_neighbour(const mesh *m, int dx, int dy, int dz)
{
    const int steps = (dx != 0) + (dy != 0) + (dz != 0);
    if (steps == 0) return true;
    if (m->kind == CROSS) return steps == 1;
    if (m->kind == BOX) return true;
    return (dx >= 0 && dy >= 0 && dz >= 0) || (dx <= 0 && dy <= 0 && dz <= 0);
}

/* Unknown d of vertex v is row v * dofs + d; the last vertex may have fewer. */
static int64_t columns_of(const void *shape, int64_t row, int32_t *columns)
{
    const mesh *m = shape;
    const int64_t vertex = row / m->dofs, layer = m->width * m->height;
    const int64_t x = vertex % m->width, y = vertex / m->width % m->height, z = vertex / layer;
    int64_t count = 0;
    /* In this order the columns ascend. */
    for (int n = 0; n < MOST_NEIGHBOURS; n++) {
        const int dx = n % 3 - 1, dy = n / 3 % 3 - 1, dz = n / 9 - 1;
        if (x + dx < 0 || x + dx >= m->width || y + dy < 0 || y + dy >= m->height) continue;
        if (z + dz < 0 || z + dz >= m->layers || !is_neighbour(m, dx, dy, dz)) continue;
        const int64_t first = (vertex + dx + m->width * dy + layer * dz) * m->dofs;
        const int64_t end = first + m->dofs < m->rows ? first + m->dofs : m->rows;
        for (int64_t col = first; columns && col < end; col++)
            if (col != row || m->loops) columns[count++] = (int32_t)col;
        if (!columns && first < end)
            count += end - first - (dx == 0 && dy == 0 && dz == 0 && !m->loops);
    }
    return count;
}

static enum status make(const generator *self, double *value, csr_matrix *A, error_text *error)
{
    const double rows = generator_value(value, ROWS, 4096);
    mesh m = {.rows = (int64_t)rows, .kind = (enum kind)generator_value(value, KIND, CROSS)};
    m.dofs = (int)generator_value(value, DOFS, 1);
    const double vertices = ceil(rows / m.dofs);
    m.width = (int64_t)generator_value(value, WIDTH, fmax(1, ceil(sqrt(vertices))));
    /* Without a height there is one layer, as high as it must be. */
    const double lines = fmax(1, ceil(vertices / (double)m.width));
    m.height = isnan(value[HEIGHT]) ? (int64_t)lines : (int64_t)value[HEIGHT];
    m.layers = (int64_t)fmax(1, ceil(lines / (double)m.height));
    m.loops = generator_value(value, LOOPS, 1) != 0;

    const row_pattern pattern = {&m, columns_of, m.rows, m.rows};
    return generate_part(self, value, &pattern, NNZ, SEED, A, error);
}

const generator grid_generator = {
    .name = "grid",
    .summary = "a mesh in two or three dimensions, of points or of blocks",
    .keys = keys,
    .num_keys = sizeof keys / sizeof keys[0],
    .make = make,
};
