import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from fl.aggregation import MaskedMean


def mean_of(previous, updates, masks, voting):
    mean = MaskedMean(torch.tensor(previous))
    for weights, mask, vote in zip(updates, masks, voting, strict=True):
        mean.add(torch.tensor(weights) * torch.tensor(mask), torch.tensor(mask), vote)
    return mean.result()


def test_each_weight_is_averaged_over_those_who_kept_it():
    result = mean_of(
        previous=[9.0, 9.0, 9.0, 9.0],
        updates=[[1.0, 2.0, 3.0, 4.0], [3.0, 6.0, 5.0, 8.0]],
        masks=[[True, True, False, False], [True, False, True, False]],
        voting=[1.0, 1.0],
    )
    assert result.tolist() == [2.0, 2.0, 5.0, 9.0]


def test_samples_may_vote():
    result = mean_of([0.0], [[1.0], [4.0]], [[True], [True]], voting=[1.0, 2.0])
    assert result.tolist() == [3.0]


def test_nobody_changes_nothing():
    previous = torch.tensor([1.5, -2.0])
    assert torch.equal(MaskedMean(previous).result(), previous)


@given(st.integers(1, 6), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_it_is_eq_26_whatever_the_masks(devices, weights, seed):
    rng = np.random.default_rng(seed)
    updates = rng.normal(size=(devices, weights)).astype(np.float32)
    masks = rng.random((devices, weights)) < 0.5
    previous = rng.normal(size=weights).astype(np.float32)
    result = mean_of(previous, updates, masks, [1.0] * devices).numpy()
    for j in range(weights):
        voters = updates[masks[:, j], j]
        expected = voters.astype(np.float64).mean() if len(voters) else previous[j]
        assert result[j] == np.float32(expected)
