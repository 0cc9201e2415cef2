"""A product of block-sparse weights in Triton, which brings none of its own.

Y = X W in 16 bits with sums in fp32. X is [N][C] and Y [N][K], token-major, as in labs 52 and 53. A program forms a
tile of TOKENS rows of one block column. It walks along the blocks of that column.
"""

import triton
import triton.language as tl


@triton.jit
def block_product_kernel(
    X, W, Y, first, block_row, N, C, K, SIDE: tl.constexpr, TOKENS: tl.constexpr, GROUP: tl.constexpr
):
    # Programs of GROUP tiles go through all block columns together: they find X and W in L2.
    program = tl.program_id(0)
    columns = K // SIDE
    first_tile = program // (GROUP * columns) * GROUP
    tiles = tl.minimum(tl.cdiv(N, TOKENS) - first_tile, GROUP)
    within = program % (GROUP * columns)
    tile = first_tile + within % tiles
    k = within // tiles

    token = tile * TOKENS + tl.arange(0, TOKENS)
    lane = tl.arange(0, SIDE)
    x = X + token[:, None] * C + lane[None, :]
    w = W + lane[:, None] * SIDE + lane[None, :]
    is_token = token[:, None] < N
    sums = tl.zeros((TOKENS, SIDE), dtype=tl.float32)
    for b in range(tl.load(first + k), tl.load(first + k + 1)):
        c = tl.load(block_row + b)
        sums = tl.dot(tl.load(x + c * SIDE, mask=is_token, other=0), tl.load(w + b * SIDE * SIDE), sums)
    y = Y + token[:, None] * K + k * SIDE + lane[None, :]
    tl.store(y, sums.to(Y.dtype.element_ty), mask=is_token)
