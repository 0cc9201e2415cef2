/*
 * tensor_map.cu - makes maps of boxes: by the driver, whose function the runtime finds, so that nothing is linked for it.
 */
#include "device/tensor_map.cuh"

extern "C" cudaError_t tensor_map_make(tensor_map *map, const void *base, size_t rows,
                                       size_t columns, int box_rows, int box_columns)
{
#ifdef __CUDACC__
    typedef CUresult (*encode_function)(
        CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
        const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
        CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    static void *encode = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (!encode) {
        const cudaError_t error = cudaGetDriverEntryPointByVersion(
            "cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
        if (error != cudaSuccess) return error;
        if (!encode) return cudaErrorNotSupported;
    }
    const CUtensorMapSwizzle swizzle = box_columns == 64   ? CU_TENSOR_MAP_SWIZZLE_128B
                                       : box_columns == 32 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                           : CU_TENSOR_MAP_SWIZZLE_32B;
    const cuuint64_t size[2] = {columns, rows}, pitch[1] = {columns * 2};
    const cuuint32_t box[2] = {(cuuint32_t)box_columns, (cuuint32_t)box_rows}, step[2] = {1, 1};
    const CUresult result = ((encode_function)encode)(
        map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, (void *)base, size, pitch, box, step,
        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
#else
    if (!base || (uintptr_t)base % 16 || !rows || !columns || columns % 8 || box_rows < 1 ||
        box_rows > 256 || (box_columns != 64 && box_columns != 32 && box_columns != 16))
        return cudaErrorInvalidValue;
    *map = {base, rows, columns, box_rows, box_columns};
    return cudaSuccess;
#endif
}
