/*
 * generate_road.c - "road:rows=100000,deg=2.8": the graph of a road network.
 *
 * Crossings stand in a square lattice, and some roads between neighbours are missing. A road has bends: vertices
 * of two neighbours, more of them the finer the map. The counts decide how many. Let there be n vertices, m
 * edges (m = nnz / 2), and three roads for two crossings. Then there are 2 (m - n) crossings and 3 (m - n)
 * roads, and all other vertices are bends. So deg is 2 for a map of bends alone, and 3 for one without any.
 *
 * The matrix is symmetric. Vertices are numbered as a map is drawn: a crossing, then the bends of its roads,
 * line by line; neighbours are near, but those of the next line are a line away.
 */
#include "matrix/generate.h"
#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>

enum key { ROWS, DEG, NNZ, WIDTH, SEED };
enum stream { ROADS, BENDS };

static const generator_key keys[] = {
    [ROWS] = {"rows", "rows and columns (default 4096)", 0, LARGEST_SIDE, true, NULL},
    [DEG] = {"deg", "mean nonzeros a row, 2 to 3 (default 2.8)", 0, 4, false, NULL},
    [NNZ] = {"nnz", "nonzeros, in place of deg; even", 0, LARGEST_SEED, true, NULL},
    [WIDTH] = {"width", "crossings of a line (default: a square's)", 1, LARGEST_SIDE, true, NULL},
    [SEED] = {"seed", "seed (default 1)", 0, LARGEST_SEED, true, NULL},
};

/* Road r of those kept leads from crossing `from` to the next one in its line, or in the line below. */
typedef struct road {
    int32_t from, to;
    int32_t bends;
} road;

/* Roads that a lattice has: to the right and down. */
static int64_t lattice_roads(int64_t crossings, int64_t width)
{
    if (crossings == 0) return 0;
    const int64_t lines = (crossings + width - 1) / width;
    return crossings - lines + (crossings > width ? crossings - width : 0);
}

/* Keeps `count` of the lattice's roads, each choice equally likely, in the order of their crossings. */
static void draw_roads(int64_t crossings, int64_t width, int64_t count, uint64_t seed, road *roads)
{
    int64_t seen = 0, kept = 0;
    const int64_t all = lattice_roads(crossings, width);
    for (int64_t i = 0; i < crossings; i++)
        for (int down = 0; down < 2; down++) {
            const int64_t to = down ? i + width : i + 1;
            if (to >= crossings || (!down && to % width == 0)) continue;
            const int64_t number =
                (int64_t)random_below(seed, (uint64_t)seen, (uint64_t)(all - seen));
            if (number < count - kept) roads[kept++] = (road){(int32_t)i, (int32_t)to, 0};
            seen++;
        }
}

static enum status push_both(coo_list *list, int64_t a, int64_t b, error_text *error)
{
    enum status status = coo_push(list, (int32_t)a, (int32_t)b, 1, error);
    return status == STATUS_OK ? coo_push(list, (int32_t)b, (int32_t)a, 1, error) : status;
}

/* Pushes all edges: a road is a chain from its crossing through its bends to the other. vertex[i] is crossing i's
 * number; the bends of its roads follow it. */
static enum status push_edges(const road *roads, int64_t count, const int32_t *vertex,
                              coo_list *list, error_text *error)
{
    enum status status = STATUS_OK;
    int64_t crossing = -1, next = 0;
    for (int64_t r = 0; r < count; r++) {
        if (roads[r].from != crossing) {
            crossing = roads[r].from;
            next = vertex[crossing] + 1;
        }
        int64_t at = vertex[crossing];
        for (int32_t k = 0; k < roads[r].bends && status == STATUS_OK; k++, next++) {
            status = push_both(list, at, next, error);
            at = next;
        }
        if (status == STATUS_OK) status = push_both(list, at, vertex[roads[r].to], error);
        if (status != STATUS_OK) return status;
    }
    return status;
}

static enum status draw_map(int64_t rows, int64_t crossings, int64_t width, int64_t count,
                            uint64_t seed, csr_matrix *A, error_text *error)
{
    coo_list list = {0};
    road *roads = malloc((size_t)(count + 1) * sizeof *roads);
    int32_t *vertex = calloc((size_t)crossings + 1, sizeof *vertex);
    enum status status = roads && vertex ? coo_init(&list, 2 * (count + rows), false, error)
                                         : fail(error, STATUS_MEMORY, "no memory for the roads");
    if (status != STATUS_OK) goto done;
    draw_roads(crossings, width, count, random_substream(seed, ROADS), roads);
    const uint64_t bends = random_substream(seed, BENDS);
    for (int64_t b = 0; b < rows - crossings; b++)
        roads[random_below(bends, (uint64_t)b, (uint64_t)count)].bends++;
    for (int64_t r = 0; r < count; r++)
        vertex[roads[r].from + 1] += roads[r].bends;
    for (int64_t i = 0; i < crossings; i++)
        vertex[i + 1] += vertex[i] + 1;
    status = push_edges(roads, count, vertex, &list, error);
    if (status == STATUS_OK) status = csr_from_coo(&list, rows, rows, A, "road:", error);
done:
    coo_free(&list);
    free(roads);
    free(vertex);
    return status;
}

static enum status make(const generator *self, double *value, csr_matrix *A, error_text *error)
{
    const int64_t rows = (int64_t)generator_value(value, ROWS, 4096);
    int64_t nnz;
    enum status status = generator_count(self, value, NNZ, DEG, 2.8, rows, 2.0 * (double)rows,
                                         3.0 * (double)rows, &nnz, error);
    if (status != STATUS_OK) return status;
    if (isnan(value[NNZ])) nnz -= nnz % 2;
    if (nnz % 2)
        return fail(error, STATUS_DATASET, "%s: nnz=%.10g: nnz is even, an edge is two entries",
                    self->name, value[NNZ]);
    const int64_t crossings = nnz - 2 * rows, count = crossings / 2 * 3;
    const int64_t width =
        (int64_t)generator_value(value, WIDTH, fmax(1, ceil(sqrt((double)crossings))));
    const uint64_t seed = (uint64_t)generator_value(value, SEED, 1);
    if (count > lattice_roads(crossings, width))
        return fail(
            error, STATUS_DATASET,
            "%s: the lattice of %.10g crossings has too few roads for that many nonzeros; more "
            "rows or a larger width help",
            self->name, (double)crossings);
    if (crossings == 0 && rows > 0)
        return fail(error, STATUS_DATASET, "%s: a map needs crossings: more than 2 nonzeros a row",
                    self->name);
    csr_matrix room; /* asks for the memory */
    status = csr_alloc(&room, rows, rows, 2 * nnz, false, error);
    csr_free(&room);
    return status == STATUS_OK ? draw_map(rows, crossings, width, count, seed, A, error) : status;
}

const generator road_generator = {
    .name = "road",
    .summary = "a road network: crossings of a lattice, and bends between them",
    .keys = keys,
    .num_keys = sizeof keys / sizeof keys[0],
    .make = make,
};
