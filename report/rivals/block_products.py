"""Products of block-sparse weights by PyTorch and Triton on layouts of labs 52 and 53: Y = X W in fp16."""

import torch
import triton

from block_kernel import block_product_kernel
from contest import FP16_LEAST, FP16_ROUNDOFF, FP32_ROUNDOFF, Refused, worst_of

# Rows of X in a tile, warps of a program, stages of its pipeline: for few tokens, and for many.
FEW = [(16, 4, 5), (32, 4, 5), (64, 4, 4)]
MANY = [(64, 4, 4), (128, 4, 4), (128, 8, 4), (256, 8, 3)]


class Operands:
    """X [N][C] and weights [blocks][out][in] by block columns, of a problems.BlockProduct."""

    def __init__(self, problem, device):
        layout, self.device = problem.layout, device
        self.problem, self.N, self.side = problem, problem.N, layout.side
        self.columns, self.C, self.K = layout.cols, layout.rows * layout.side, layout.cols * layout.side
        self.first, self.block_row, self.block_col = (
            torch.tensor(list_, dtype=torch.int32, device=device)
            for list_ in (layout.first, layout.block_row, layout.block_col)
        )
        self.sets = {probe: self.draw(probe) for probe in (False, True)}

    def draw(self, probe):
        """Operands with the product's fp64 result and bound: from -1 to 1; or whole numbers, whose sums fp32 holds."""
        random = torch.Generator(self.device).manual_seed(1)

        def numbers(*shape):
            drawn = torch.rand(shape, generator=random, device=self.device)
            return ((7 * drawn).floor() - 3 if probe else 2 * drawn - 1).half()

        weights, X = numbers(len(self.block_row), self.side, self.side), numbers(self.N, self.C)
        wide, dense = X.double(), self.dense(weights).double()
        reference = wide @ dense.T
        if probe:
            return weights, X, reference.half().double(), torch.zeros_like(reference)
        terms = (self.first[1:] - self.first[:-1]).repeat_interleave(self.side) * self.side
        error = FP32_ROUNDOFF * (terms + 4) * (wide.abs() @ dense.abs().T)
        return weights, X, reference, error + FP16_ROUNDOFF * (reference.abs() + error) + FP16_LEAST / 2

    def dense(self, weights):
        """The transpose of W with its zeros, [K][C]."""
        blocks = weights.new_zeros(self.columns, self.C // self.side, self.side, self.side)
        blocks[self.block_col.long(), self.block_row.long()] = weights
        return blocks.transpose(1, 2).reshape(self.K, self.C)

    def use(self, probe):
        self.weights, self.X, self.reference, self.bound = self.sets[probe]

    def worst_error(self, Y):
        return worst_of(Y, self.reference, self.bound)

    def empty(self):
        """Room for Y. What nobody writes is no number."""
        return self.X.new_full((self.N, self.K), float("nan"))

    def bsr(self):
        """The transpose of W as a BSR tensor of PyTorch, [K][C]."""
        return torch.sparse_bsr_tensor(self.first, self.block_row, self.weights.clone(), size=(self.K, self.C))


# ---- rivals ----------------------------------------------------------------------------------------------------------


def tiles_of(operands):
    """Settings with tiles that divide the tokens."""
    tiles = FEW if operands.N < 256 else MANY
    return [dict(zip(("TOKENS", "WARPS", "STAGES"), tile)) for tile in tiles if operands.N % tile[0] == 0]


class Addmm:
    """PyTorch's own kernel, in Triton. Its tables of settings are of the A100, so here they are searched."""

    settings = staticmethod(tiles_of)

    @staticmethod
    def make(operands, TOKENS, WARPS, STAGES):
        from torch.sparse._triton_ops import bsr_dense_addmm  # not public: another PyTorch may have none

        meta = {"SPLIT_N": operands.N // TOKENS, "GROUP_SIZE_ROW": 4, "num_warps": WARPS, "num_stages": STAGES}
        weight, X, Y = operands.bsr(), operands.X, operands.empty()

        def run():
            bsr_dense_addmm(Y.T, weight, X.T, beta=0, alpha=1, out=Y.T, meta=meta)
            return Y

        return run


class OwnKernel:
    """block_kernel.py"""

    GROUP = 8
    settings = staticmethod(tiles_of)

    @staticmethod
    def make(operands, TOKENS, WARPS, STAGES):
        weights = operands.weights.transpose(1, 2).contiguous()  # [blocks][in][out]
        X, Y, first, row = operands.X, operands.empty(), operands.first, operands.block_row
        N, C, K, side = operands.N, operands.C, operands.K, operands.side
        grid = (operands.columns * triton.cdiv(N, TOKENS),)

        def run():
            block_product_kernel[grid](
                X, weights, Y, first, row, N, C, K, side, TOKENS, OwnKernel.GROUP, num_warps=WARPS, num_stages=STAGES
            )
            return Y

        return run


class Linear:
    """The layer as a network of PyTorch calls it, with a weight of the layout BSR."""

    @staticmethod
    def settings(operands):
        return [{}]

    @staticmethod
    def make(operands):
        weight, X = operands.bsr(), operands.X
        return lambda: torch.nn.functional.linear(X, weight)


class Stk:
    """The library behind MegaBlocks."""

    @staticmethod
    def settings(operands):
        raise Refused("not supported: stk takes blocks of 128 alone")


class Dense:
    """cuBLAS by PyTorch: the suite times it as well, so that both ways to take times stand beside each other."""

    @staticmethod
    def settings(operands):
        return [{}]

    @staticmethod
    def make(operands):
        W, X, Y = operands.dense(operands.weights).T.contiguous(), operands.X, operands.empty()
        return lambda: torch.matmul(X, W, out=Y)
