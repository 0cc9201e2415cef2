"""Layouts of blocks and sizes of attention, and the columns of their rows: what needs no PyTorch."""

import array
import os
import subprocess

# Tokens, heads, size of a head: apps/sparse_transformer, and the published sizes of block-sparse attention.
ATTENTIONS = [(12288, 8, 128), (8192, 16, 64)]
# Who contends, and by which name in block_products.py and dense_attention.py.
BLOCK_RIVALS = {
    "PyTorch bsr_dense_addmm": "Addmm",
    "Triton block product": "OwnKernel",
    "PyTorch linear of BSR": "Linear",
    "stk dds": "Stk",
    "PyTorch matmul (dense)": "Dense",
}
# The flash kernel takes 16 bits alone; in fp32 there is the memory-efficient one.
ATTENTION_RIVALS = {
    "fp16": {"PyTorch SDPA flash": "Flash", "PyTorch SDPA cuDNN": "CuDNN"},
    "fp32": {"PyTorch SDPA efficient": "Efficient"},
}


class Layout:
    """The blocks that a layout of the suite has, in the order of block columns: written by `convert`, read here."""

    HEADER_BYTES = 64  # common/matrix/csr_file.c

    def __init__(self, features, side, density, convert, folder):
        self.spec, self.side = f"blocks:in={features},block={side},density={density}", side
        path = os.path.join(folder, "layout.csr")
        subprocess.run([convert, self.spec, path], check=True, stdout=subprocess.DEVNULL)
        with open(path, "rb") as file:
            data = file.read()
        self.rows, self.cols, self.blocks = array.array("q", data[8:32])
        columns_at = self.HEADER_BYTES + 8 * (self.rows + 1)
        begin = array.array("q", data[self.HEADER_BYTES : columns_at])
        column = array.array("i", data[columns_at : columns_at + 4 * self.blocks])
        places = sorted((column[at], row) for row in range(self.rows) for at in range(begin[row], begin[row + 1]))
        self.block_row = [row for _, row in places]
        self.block_col = [col for col, _ in places]
        self.first = [0] * (self.cols + 1)  # of each block column
        for col in self.block_col:
            self.first[col + 1] += 1
        for col in range(self.cols):
            self.first[col + 1] += self.first[col]


class BlockProduct:
    """Y = X W with N tokens, in fp16."""

    rivals, module = BLOCK_RIVALS, "block_products"

    def __init__(self, layout, N):
        self.layout, self.N = layout, N
        self.gflop = 2e-9 * layout.blocks * layout.side**2 * N
        self.columns = columns_of(
            "bsmm", "fp16", layout.spec, rows=layout.rows, cols=layout.cols, nnz=layout.blocks, N=N, flags=""
        )


class Attention:
    """Causal attention on all pairs: the width is the size of a head."""

    module = "dense_attention"

    def __init__(self, tokens, heads, d, precision):
        self.tokens, self.heads, self.d, self.precision = tokens, heads, d, precision
        self.rivals = ATTENTION_RIVALS[precision]
        pairs = tokens * (tokens + 1) // 2
        self.gflop = 4e-9 * pairs * heads * d
        spec = f"mask:rows={tokens},band={tokens}"
        self.columns = columns_of(
            "attention", precision, spec, rows=tokens, cols=tokens, nnz=pairs, N=d, flags=f"HEADS={heads}"
        )


def columns_of(operation, precision, spec, **sizes):
    return {
        "operation": operation,
        "precision": precision,
        "dataset": spec,
        "origin": "generated",
        "source": spec,
        **sizes,
    }
