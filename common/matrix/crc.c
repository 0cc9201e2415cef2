#include "matrix/crc.h"

void crc_init(crc_tables *tables)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
        tables->table[0][byte] = crc;
    }
    for (int zeros = 1; zeros < 8; zeros++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = tables->table[zeros - 1][byte];
            tables->table[zeros][byte] = before >> 8 ^ tables->table[0][before & 255];
        }
    }
}

uint32_t crc_update(const crc_tables *tables, uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint32_t next = 0;
        for (int i = 0; i < 4; i++)
            next ^= tables->table[7 - i][at[i] ^ (crc >> (8 * i) & 255)];
        for (int i = 4; i < 8; i++)
            next ^= tables->table[7 - i][at[i]];
        crc = next;
    }
    for (; bytes > 0; bytes--, at++)
        crc = crc >> 8 ^ tables->table[0][(crc ^ *at) & 255];
    return ~crc;
}
