/*
 * crc.h - the CRC-32 of gzip (RFC 1952): polynomial 0xedb88320, reflected. libarchive unpacks gzip
 * data without comparing it, so a flipped bit in a download would become a wrong matrix.
 */
#ifndef MATRIX_CRC_H
#define MATRIX_CRC_H

#include <stddef.h>
#include <stdint.h>

/* table[k][b]: the CRC of byte b followed by k zero bytes; so 8 bytes are taken in one step. */
typedef struct crc_tables {
    uint32_t table[8][256];
} crc_tables;

void crc_init(crc_tables *tables);

/* The CRC of everything so far, extended by `bytes` at `data`. Begin with 0. */
uint32_t crc_update(const crc_tables *tables, uint32_t crc, const void *data, size_t bytes);

#endif
