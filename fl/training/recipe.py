"""How a device trains."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor


@dataclass(frozen=True)
class Recipe:
    """What every device does in every round."""

    personal_iterations: int
    """tau_v."""
    warmup_iterations: int
    """tau-hat_u."""
    global_iterations: int
    """tau_u."""
    personal_rate: float
    """eta_v."""
    global_rate: float
    """eta_u."""
    batch_size: int
    update: Literal["alternate", "simultaneous"] = "alternate"
    """First the personal part and then the global one (LocalAlt), or both at once (LocalSim)."""
    importance: Literal["update", "exact"] = "update"
    """Eq. (20) or Eq. (19)."""
    optimizer: Literal["sgd", "momentum", "adam"] = "sgd"
    momentum: float = 0.0
    """Of the optimizer ``momentum``."""

    @property
    def num_batches(self) -> int:
        """How many mini-batches a round draws; exact importance looks at one, without a step."""
        ranking = 1 if self.importance == "exact" else self.warmup_iterations
        return self.personal_iterations + self.global_iterations + ranking

    def optimizer_of(self, weights: Tensor, rate: float) -> torch.optim.Optimizer:
        """Return what moves *weights*; it begins without a memory of earlier rounds."""
        if self.optimizer == "adam":
            return torch.optim.Adam([weights], lr=rate)
        return torch.optim.SGD([weights], lr=rate, momentum=self.momentum)
