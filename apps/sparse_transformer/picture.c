#include "picture.h"

#include "matrix/files.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SVG_SIDE = 48, PGM_SIDE = 512, SHADES = 9 };

/* Squares of a picture, side x side, and how many nonzeros lie in each. */
typedef struct squares {
    int side;
    int64_t rows; /* of the matrix */
    int64_t *count;
} squares;

static int64_t begin_of(const squares *s, int square)
{
    return s->rows * square / s->side;
}

/* Square 0 .. side - 1 that row or column i belongs to: the last that begins at or before it. */
static int square_of(const squares *s, int64_t i)
{
    int at = (int)(i * s->side / s->rows);
    while (at + 1 < s->side && begin_of(s, at + 1) <= i)
        at++;
    return at;
}

static bool count_nonzeros(const csr_matrix *A, int most, squares *s)
{
    s->side = A->rows < most ? (int)A->rows : most;
    s->rows = A->rows;
    s->count = calloc((size_t)s->side * s->side + 1, sizeof *s->count);
    if (!s->count) return false;
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t *const row = s->count + (size_t)square_of(s, i) * s->side;
        for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++)
            row[square_of(s, A->col_idx[z])]++;
    }
    return true;
}

/* 0: empty. SHADES: more than half of the places are nonzeros; one less: more than a quarter, and so on; 1: few. */
static int shade_of(const squares *s, int y, int x)
{
    const int64_t places =
        (begin_of(s, y + 1) - begin_of(s, y)) * (begin_of(s, x + 1) - begin_of(s, x));
    const int64_t count = s->count[(size_t)y * s->side + x];
    if (count == 0) return 0;
    int shade = SHADES;
    for (int64_t scaled = count; 2 * scaled <= places && shade > 1; scaled *= 2)
        shade--;
    return shade;
}

static int grey_of(int shade)
{
    return 255 - shade * 240 / SHADES;
}

static void write_pgm(FILE *out, const squares *s)
{
    fprintf(out, "P5\n%d %d\n255\n", s->side, s->side);
    for (int y = 0; y < s->side; y++)
        for (int x = 0; x < s->side; x++)
            fputc(grey_of(shade_of(s, y, x)), out);
}

/* Neighbours of one shade are one rectangle. */
static void write_row(FILE *out, const squares *s, int y, double unit, double left, double top)
{
    for (int x = 0, end; x < s->side; x = end) {
        const int shade = shade_of(s, y, x);
        for (end = x + 1; end < s->side && shade_of(s, y, end) == shade; end++) {
        }
        const int grey = grey_of(shade);
        if (shade)
            fprintf(out,
                    "  <rect x=\"%.4g\" y=\"%.4g\" width=\"%.4g\" height=\"%.4g\" "
                    "fill=\"#%02x%02x%02x\"/>\n",
                    left + x * unit, top + y * unit, (end - x) * unit, unit, grey, grey, grey);
    }
}

static void write_key(FILE *out, double x, double y)
{
    fprintf(out, "  <text x=\"%g\" y=\"%g\">nonzeros of a square's places</text>\n", x, y);
    for (int shade = SHADES; shade >= 1; shade--) {
        const int grey = grey_of(shade);
        const double at = y + 14 + (SHADES - shade) * 22;
        fprintf(out,
                "  <rect x=\"%g\" y=\"%g\" width=\"22\" height=\"16\" fill=\"#%02x%02x%02x\"/>\n",
                x, at, grey, grey, grey);
        if (shade > 1)
            fprintf(out, "  <text x=\"%g\" y=\"%g\">more than %.3g %%</text>\n", x + 30, at + 13,
                    100 * pow(0.5, SHADES - shade + 1));
        else
            fprintf(out, "  <text x=\"%g\" y=\"%g\">some</text>\n", x + 30, at + 13);
    }
}

static void write_svg(FILE *out, const squares *s, int64_t nnz)
{
    const double side = 480, left = 40, top = 50;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 560\" width=\"760\" "
            "height=\"560\"\n     font-family=\"sans-serif\" font-size=\"13\">\n"
            "  <title>A mask of %" PRId64 " rows, %" PRId64 " nonzeros</title>\n"
            "  <rect width=\"760\" height=\"560\" fill=\"#fff\"/>\n"
            "  <text x=\"%g\" y=\"24\" font-weight=\"bold\">%" PRId64
            " queries (rows), as many keys "
            "(columns), %" PRId64 " nonzeros</text>\n",
            s->rows, nnz, left, s->rows, nnz);
    for (int y = 0; y < s->side; y++)
        write_row(out, s, y, side / s->side, left, top);
    fprintf(
        out,
        "  <rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" stroke=\"#000\"/>\n",
        left, top, side, side);
    write_key(out, left + side + 30, top + 14);
    fprintf(out, "</svg>\n");
}

enum status picture_write(const csr_matrix *A, const char *path, error_text *error)
{
    const char *dot = strrchr(path, '.');
    const bool is_svg = dot && !strcmp(dot, ".svg"), is_pgm = dot && !strcmp(dot, ".pgm");
    if (!is_svg && !is_pgm)
        return fail(error, STATUS_USAGE, "--picture %s: its name ends with .svg or .pgm", path);
    squares s;
    if (!count_nonzeros(A, is_svg ? SVG_SIDE : PGM_SIDE, &s))
        return fail(error, STATUS_MEMORY, "no memory for the picture");
    output_file file;
    enum status status = output_open(&file, path, error);
    if (status == STATUS_OK) {
        if (is_svg)
            write_svg(file.stream, &s, A->nnz);
        else
            write_pgm(file.stream, &s);
        status = output_close(&file, error);
    }
    free(s.count);
    return status;
}
