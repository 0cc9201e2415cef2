#include "attack.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

const char *attempt_path(const attempt *t, const char *name)
{
    static char paths[4][256];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", t->folder, name);
    return paths[turn];
}

void write_file(const attempt *t, const char *name, const bytes *b)
{
    FILE *out = fopen(attempt_path(t, name), "w");
    if (!out || fwrite(b->at, 1, b->count, out) != b->count || fclose(out) != 0) {
        perror(name);
        exit(4);
    }
}

bytes read_file(const char *path)
{
    bytes b = {0};
    FILE *in = fopen(path, "r");
    FILE *copy = open_memstream(&b.at, &b.count);
    char block[4096];
    for (size_t n; in && (n = fread(block, 1, sizeof block, in)) > 0;)
        fwrite(block, 1, n, copy);
    if (in) fclose(in);
    fclose(copy);
    return b;
}

/* Puts `count` bytes in place of `removed` at `position`. */
static void splice(bytes *b, size_t position, size_t removed, const char *with, size_t count)
{
    bytes to = {.count = b->count - removed + count};
    to.at = malloc(to.count + 1);
    memcpy(to.at, b->at, position);
    memcpy(to.at + position, with, count);
    memcpy(to.at + position + count, b->at + position + removed, b->count - position - removed);
    to.at[to.count] = 0;
    free(b->at);
    *b = to;
}

static void mutate_once(attempt *t, bytes *b)
{
    static const char *const words[] = {"0",
                                        "1",
                                        "-1",
                                        "2147483647",
                                        "2147483648",
                                        "4294967296",
                                        "9223372036854775807",
                                        "1e39",
                                        "1D5",
                                        "nan",
                                        "-inf",
                                        ".",
                                        "1.5",
                                        " ",
                                        "\n",
                                        "\t",
                                        ",",
                                        "%",
                                        "#",
                                        "\r",
                                        "'",
                                        "(",
                                        "1 1\n",
                                        "99999999999999999999",
                                        "0x1",
                                        "1000000",
                                        "\n%",
                                        "%%MatrixMarket",
                                        "e",
                                        "symmetric",
                                        "=",
                                        ":"};
    if (b->count == 0) {
        splice(b, 0, 0, "1", 1);
        return;
    }
    size_t at = draw(t, b->count);
    size_t few = 1 + draw(t, b->count - at < 12 ? b->count - at : 12);
    const char *word = words[draw(t, sizeof words / sizeof *words)];
    char letter = (char)draw(t, 256);
    switch (draw(t, 8)) {
    case 0:
        b->at[at] ^= (char)(1 << draw(t, 8));
        break;
    case 1:
        b->at[at] = letter;
        break;
    case 2:
        splice(b, at, few, "", 0);
        break;
    case 3:
        splice(b, at, 0, word, strlen(word));
        break;
    case 4:
        splice(b, at, few, word, strlen(word));
        break;
    case 5: { /* a piece once more */
        char piece[12];
        memcpy(piece, b->at + at, few);
        splice(b, draw(t, b->count), 0, piece, few);
        break;
    }
    case 6: { /* a number's digit */
        char digit = (char)('0' + draw(t, 10));
        for (size_t k = 0; k < b->count; k++, at = (at + 1) % b->count)
            if (b->at[at] >= '0' && b->at[at] <= '9') {
                b->at[at] = digit;
                break;
            }
        break;
    }
    case 7:
        if (once_in(t, 4)) splice(b, at, b->count - at, "", 0);
        break;
    }
}

void mutate(attempt *t, bytes *b)
{
    for (uint64_t n = 1 + draw(t, 4); n > 0; n--)
        mutate_once(t, b);
}

static void pack_member(FILE *out, const char *at, size_t count)
{
    z_stream z = {0};
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) exit(4);
    size_t room = deflateBound(&z, count);
    unsigned char *packed = malloc(room);
    z.next_in = (unsigned char *)(uintptr_t)at;
    z.avail_in = (uInt)count;
    z.next_out = packed;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END) exit(4);
    fwrite(packed, 1, room - z.avail_out, out);
    deflateEnd(&z);
    free(packed);
}

bytes pack_gzip(attempt *t, const bytes *b)
{
    bytes packed;
    FILE *out = open_memstream(&packed.at, &packed.count);
    size_t from = 0;
    for (uint64_t n = draw(t, 3); n > 0; n--) {
        size_t count = draw(t, b->count - from + 1);
        pack_member(out, b->at + from, count);
        from += count;
    }
    pack_member(out, b->at + from, b->count - from);
    fclose(out);
    return packed;
}
