"""Networks small enough to compare weight by weight."""

import threading

import torch
from torch import nn


class TinyCnn(nn.Module):
    """A convolution and two fully connected layers for 1x28x28 images."""

    def __init__(self, channels=2, hidden=6):
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, 5, stride=3)
        self.fc1 = nn.Linear(channels * 64, hidden)
        self.fc2 = nn.Linear(hidden, 10)

    def forward(self, images):
        hidden = torch.relu(self.conv1(images)).flatten(1)
        return self.fc2(torch.relu(self.fc1(hidden)))


class Forgetful(TinyCnn):
    """With dropout: what it computes depends on torch's generator while it trains."""

    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.3)

    def forward(self, images):
        return super().forward(self.dropout(images))


class Double(TinyCnn):
    """In double precision."""

    def __init__(self):
        super().__init__()
        self.double()

    def forward(self, images):
        return super().forward(images.double())


class Private(TinyCnn):
    """With something that cannot be pickled."""

    def __init__(self):
        super().__init__()
        self.scale = lambda x: 2 * x


class Unmovable(TinyCnn):
    """With something that no kind of pickle takes."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class Idle(TinyCnn):
    """With a layer that does nothing."""

    def __init__(self):
        super().__init__()
        self.aux = nn.Linear(3, 3)


class Frozen(TinyCnn):
    """With a layer that is not to be trained."""

    def __init__(self):
        super().__init__()
        self.fc2.bias.requires_grad_(False)


class Moody(TinyCnn):
    """Works when it is looked at, and fails in training."""

    def forward(self, images):
        if len(images) > 2:
            raise RuntimeError("not today")
        return super().forward(images)


class Counting(TinyCnn):
    """With a layer that keeps statistics."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(2)


class Broken(TinyCnn):
    """With other scores than there are labels."""

    def forward(self, images):
        return super().forward(images)[:, :3]


NOT_A_CLASS = 3


class NotAModule:
    """Something else."""


class Explosive(TinyCnn):
    """Without anything that could end it, training leaves the numbers."""

    def forward(self, images):
        return self.fc2(self.fc1(self.conv1(images).flatten(1)).square())
