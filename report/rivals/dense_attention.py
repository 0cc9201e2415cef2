"""Dense causal attention by PyTorch: what attention on a sparse mask has to beat."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from contest import FP16_LEAST, FP16_ROUNDOFF, FP32_ROUNDOFF, worst_of


class Operands:
    """Q, K and V of [1][heads][tokens][d], of a problems.Attention. Token i sees tokens 0 to i."""

    CHUNK = 1024  # rows of logits at a time, in fp64

    def __init__(self, problem, device):
        self.problem, self.device = problem, device
        self.shape = (1, problem.heads, problem.tokens, problem.d)
        self.type = {"fp16": torch.float16, "fp32": torch.float32}[problem.precision]
        self.sets = {probe: self.draw(probe) for probe in (False, True)}

    def draw(self, probe):
        """Uniform numbers with a variance of 1, as in a model; or Q of zeros: the result is then a mean of V's rows."""
        random = torch.Generator(self.device).manual_seed(1)
        Q, K, V = (
            (3**0.5 * (2 * torch.rand(self.shape, generator=random, device=self.device) - 1)).to(self.type)
            for _ in range(3)
        )
        if probe:
            Q = torch.zeros_like(Q)
        return (Q, K, V, *self.exact(Q, K, V))

    def exact(self, Q, K, V):
        """The result in fp64 and its bound, some rows of a head at a time.

        A logit is a sum of d products in fp32. Its error, at most `off`, changes its exponential by that share, and the
        sum of exponentials by as much again. In 16 bits shares and the result are rounded, too.
        """
        heads, tokens, d = self.shape[1:]
        narrow, least = (FP16_ROUNDOFF, FP16_LEAST) if self.type == torch.float16 else (0, 0)
        reference, bound = (torch.empty(self.shape, dtype=torch.float64, device=self.device) for _ in range(2))
        for head in range(heads):
            q, k, v = (matrix[0, head].double() for matrix in (Q, K, V))
            for begin in range(0, tokens, self.CHUNK):
                end = min(begin + self.CHUNK, tokens)
                row = torch.arange(begin, end, device=self.device)[:, None]
                hidden = torch.arange(end, device=self.device) > row
                logits = q[begin:end] @ k[:end].T / d**0.5
                sizes = q[begin:end].abs() @ k[:end].abs().T / d**0.5
                shares = logits.masked_fill(hidden, float("-inf")).softmax(-1)
                off = FP32_ROUNDOFF * (d + 4) * sizes.amax(-1, keepdim=True)
                share = 2 * off + FP32_ROUNDOFF * (row + 9) + 3 * narrow
                reference[0, head, begin:end] = shares @ v[:end]
                bound[0, head, begin:end] = share * (shares @ v[:end].abs()) + least
        return reference, bound

    def use(self, probe):
        self.Q, self.K, self.V, self.reference, self.bound = self.sets[probe]

    def worst_error(self, result):
        return worst_of(result, self.reference, self.bound)


class Backend:
    """scaled_dot_product_attention by one of its backends."""

    @classmethod
    def settings(cls, operands):
        return [{"BACKEND": cls.backend.name}]

    @staticmethod
    def make(operands, BACKEND):
        Q, K, V, backend = operands.Q, operands.K, operands.V, getattr(SDPBackend, BACKEND)

        def run():
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(Q, K, V, is_causal=True)

        return run


class Flash(Backend):
    backend = SDPBackend.FLASH_ATTENTION


class CuDNN(Backend):
    backend = SDPBackend.CUDNN_ATTENTION


class Efficient(Backend):
    backend = SDPBackend.EFFICIENT_ATTENTION
