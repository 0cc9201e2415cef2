/*
 * library_types.h - types of elements as the CUDA libraries name them, on the CPU backend: those that
 * the stand-in of cuBLAS takes.
 */
#ifndef SIMT_LIBRARY_TYPES_H
#define SIMT_LIBRARY_TYPES_H

typedef enum cudaDataType_t {
    CUDA_R_32F = 0,
    CUDA_R_16F = 2,
    CUDA_R_16BF = 14,
} cudaDataType_t;
typedef cudaDataType_t cudaDataType;

#endif
