import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from fl.pruning import exact_importance, keep_most, update_importance

importances = st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.5, 1e-30]), min_size=1, max_size=50)


@given(importances, st.data())
def test_the_most_important_are_kept_and_of_equals_the_first(values, data):
    kept = data.draw(st.integers(0, len(values)))
    mask = keep_most(torch.tensor(values), kept)
    order = sorted(range(len(values)), key=lambda j: (-np.float32(values[j]), j))
    assert set(np.flatnonzero(mask.numpy()).tolist()) == set(order[:kept])


def test_what_moves_matters():
    updated, broadcast = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([1.0, 2.0, 1.0])
    assert update_importance(updated, broadcast).tolist() == [0.0, 4.0, 0.5]


def test_exact_importance_is_the_loss_without_each_weight():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.rand(9, 150, generator=generator)
    weights = torch.rand(150, generator=generator)  # more than are removed at once

    def loss(u):
        return torch.tanh(inputs @ u - 30).square().mean()

    by_hand = []
    for j in range(150):
        without = weights.clone()
        without[j] = 0.0
        by_hand.append(float(loss(weights) - loss(without)) ** 2)
    torch.testing.assert_close(exact_importance(loss, weights), torch.tensor(by_hand))
