"""Networks small enough to compare weight by weight."""

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
    """With dropout: what it computes depends on torch's generator."""

    def forward(self, images):
        return super().forward(nn.functional.dropout(images, 0.3, training=torch.is_grad_enabled()))


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
