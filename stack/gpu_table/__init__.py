"""`inferwatch gpu`: the GPUs of this machine in the terminal, by the GPU exporter's own collection."""

from stack.gpu_table.run import show

__all__ = ["show"]
