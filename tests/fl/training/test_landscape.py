"""Estimates where the true constants are known: a linear classifier of two labels at zero.

There its curvature is largest, so that of the whole loss is the Lipschitz constant itself.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_models import Forgetful, TinyCnn
from torch import nn

from fl.models.split import split_network
from fl.training.batches import Images
from fl.training.cohort import Cohort
from fl.training.landscape import estimate_constants
from fl.training.recipe import Recipe
from netsim.streams import Streams

SAMPLES = 40


class Linear(nn.Module):
    """Scores of two labels; the weights are the global part, the bias the personal one."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2, 9))
        self.bias = nn.Parameter(torch.zeros(2))

    def forward(self, images):
        return images.flatten(1) @ self.weight.T + self.bias


def images(side=3, labels=2):
    generator = torch.Generator().manual_seed(3)
    shape = (SAMPLES, 1, side, side)
    pixels = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    half = torch.full((1, 1, 1), 0.5)
    of_each = torch.randint(0, labels, (SAMPLES,), generator=generator)
    return Images(pixels, of_each, half, half / 2)


def cohort(module=None, personal=("bias",), batch_size=SAMPLES, devices=1, seed=7):
    torch.manual_seed(5)
    module = Linear() if module is None else module()
    net = split_network(module, personal)
    data = images() if isinstance(module, Linear) else images(28, 10)
    held = np.array_split(np.arange(SAMPLES), devices)
    return Cohort(
        network=net,
        recipe=Recipe(1, 1, 1, 0.1, 0.1, batch_size),
        streams=Streams(seed),
        train=data,
        test=data,
        held_train=held,
        held_test=held,
        personal=net.personal.vector(module).repeat(devices, 1),
        shared=net.shared.vector(module),
    )


def loss_of(devices, device=0):
    batch = devices.train.batch(devices.held_train[device])

    def loss(personal, shared):
        scores = devices.network.scores(personal, shared, batch.images)
        return nn.functional.cross_entropy(scores, batch.labels)

    return loss


def exact_smoothness(devices, device=0):
    loss = loss_of(devices, device)
    parts = devices.personal[device], devices.shared
    hessian = torch.autograd.functional.hessian(loss, parts)
    return [torch.linalg.eigvalsh(hessian[i][i]).abs().max().item() for i in (0, 1)]


def slopes_of_samples(devices):
    """Return the gradient of the weights at zero, of each sample: (1/2 - [label = i]) x."""
    x = devices.train.batch(np.arange(SAMPLES)).images.flatten(1).double().numpy()
    away = 0.5 - np.eye(2)[devices.train.labels.numpy()]
    return (away[:, :, None] * x[:, None, :]).reshape(SAMPLES, -1)


def test_curvature_is_found_almost_wholly_and_never_exceeded():
    devices = cohort()
    of_v, of_u = exact_smoothness(devices)
    assert of_v == pytest.approx(0.5)
    constants = estimate_constants(devices, steps=8)
    assert 0.9 * of_u < constants.global_smoothness < of_u * (1 + 1e-4)
    assert 0.9 * of_v < constants.personal_smoothness < of_v * (1 + 1e-4)


def test_more_steps_find_more():
    found = [estimate_constants(cohort(), steps=n).global_smoothness for n in (1, 2, 4, 8, 16)]
    assert found == sorted(found)
    assert found[-1] > found[0]


def test_the_device_with_the_largest_value_counts():
    devices = cohort(devices=4)
    exact = np.array([exact_smoothness(devices, device) for device in range(4)])
    constants = estimate_constants(devices, steps=8)
    assert constants.global_smoothness == pytest.approx(exact[:, 1].max(), rel=0.1)
    slopes = np.array_split(slopes_of_samples(devices), 4)
    norms = [np.linalg.norm(of_device.mean(axis=0)) for of_device in slopes]
    assert constants.global_gradient == pytest.approx(max(norms), rel=1e-5)


def test_a_device_that_sees_all_its_samples_each_time_has_no_noise():
    constants = estimate_constants(cohort(batch_size=SAMPLES + 1))
    slope = slopes_of_samples(cohort()).mean(axis=0)
    assert constants.global_noise < 1e-6
    assert constants.personal_noise < 1e-6
    assert constants.global_gradient == pytest.approx(np.linalg.norm(slope), rel=1e-5)


def test_noise_is_that_of_a_mini_batch_out_of_the_samples_of_the_device():
    """Samples are drawn without putting back, so the variance is S^2/B (1 - B/n)."""
    batch = 5
    constants = estimate_constants(cohort(batch_size=batch), batches=3000, steps=1)
    slopes = slopes_of_samples(cohort())
    mean = slopes.mean(axis=0)
    spread = ((slopes - mean) ** 2).sum() / (SAMPLES - 1)
    variance = spread / batch * (1 - batch / SAMPLES)
    assert constants.global_noise**2 == pytest.approx(variance, rel=0.03)
    assert constants.global_gradient**2 == pytest.approx(mean @ mean + variance, rel=0.03)
    # Of the bias the slope is (1/2 - [label = i]).
    away = 0.5 - np.eye(2)[cohort().train.labels.numpy()]
    spread = ((away - away.mean(axis=0)) ** 2).sum() / (SAMPLES - 1)
    expected = spread / batch * (1 - batch / SAMPLES)
    assert constants.personal_noise**2 == pytest.approx(expected, rel=0.1)  # of fewer weights


def test_two_batches_are_enough_on_average():
    """The mean is taken from the batches themselves, and yet the variance is not too small."""
    estimates = [
        estimate_constants(cohort(batch_size=5, seed=seed), batches=2, steps=1).global_noise ** 2
        for seed in range(80)
    ]
    many = estimate_constants(cohort(batch_size=5), batches=3000, steps=1).global_noise ** 2
    assert np.mean(estimates) == pytest.approx(many, rel=0.1)


def test_the_loss_is_the_mean_over_devices():
    devices = cohort(TinyCnn, ["conv*"], devices=3)
    losses = [loss_of(devices, k)(devices.personal[k], devices.shared).item() for k in range(3)]
    assert estimate_constants(devices, steps=1).initial_gap == pytest.approx(np.mean(losses))
    # At zero both labels are as likely.
    assert estimate_constants(cohort()).initial_gap == pytest.approx(np.log(2))


def test_the_norm_makes_assumption_2_true_for_masks_that_do_not_know_the_weights():
    devices = cohort(TinyCnn, ["conv*"])
    square = estimate_constants(devices, steps=1).weight_norm ** 2
    u = devices.shared.double().numpy()
    size, rng = len(u), np.random.default_rng(1)
    for pruned in (1, size // 4, size // 2, size - 1):
        ratio = pruned / size
        lost = [(rng.permutation(u)[:pruned] ** 2).sum() for _ in range(4000)]
        assert np.mean(lost) == pytest.approx(ratio * square, rel=0.1)
        largest = np.sort(u**2)[-pruned:].sum()  # the worst mask
        assert ratio * square < largest <= ratio * size * (u**2).max() * (1 + 1e-9)


@pytest.mark.parametrize("module", [TinyCnn, Forgetful])
def test_it_repeats_whatever_was_drawn_before(module):
    devices = cohort(module, ["conv*"], batch_size=8, devices=3)
    state = torch.random.get_rng_state()
    one = estimate_constants(devices)
    assert torch.equal(state, torch.random.get_rng_state())
    torch.rand(3)
    assert estimate_constants(devices) == one
    assert estimate_constants(replace(devices, streams=Streams(8))) != one


def test_dropout_is_noise_and_no_curvature():
    plain = estimate_constants(cohort(TinyCnn, ["conv*"]))
    noisy = estimate_constants(cohort(Forgetful, ["conv*"]))
    assert plain.global_noise < 1e-5
    assert noisy.global_noise > 0.01
    assert noisy.global_smoothness < 3 * plain.global_smoothness


def test_the_cohort_is_left_as_it_was():
    devices = cohort(TinyCnn, ["conv*"], batch_size=8, devices=2)
    before = [tensor.clone() for tensor in devices.tensors]
    estimate_constants(devices)
    assert all(map(torch.equal, devices.tensors, before))
    assert not any(tensor.requires_grad for tensor in devices.tensors)


def test_only_so_many_devices_are_looked_at():
    """Of eight, of which one has far steeper losses; it is not always among three."""
    devices = cohort(devices=8)
    devices.train.pixels[devices.held_train[5]] = 255
    pixels = devices.train.pixels
    pixels[pixels != 255] = 128
    found = {
        estimate_constants(replace(devices, streams=Streams(seed)), devices=3).global_smoothness > 1
        for seed in range(8)
    }
    assert found == {True, False}
    assert estimate_constants(devices, devices=8).global_smoothness > 1


def test_without_a_personal_part_there_is_nothing_to_say_of_it():
    constants = estimate_constants(cohort(TinyCnn, []))
    assert constants.personal_smoothness == 0
    assert constants.personal_noise == 0
    assert constants.global_smoothness > 0


@pytest.mark.parametrize(("name", "least"), [("devices", 1), ("batches", 2), ("steps", 1)])
def test_there_is_something_to_look_at(name, least):
    with pytest.raises(ValueError, match=f"{name} must be >= {least}, got {least - 1}"):
        estimate_constants(cohort(), **{name: least - 1})
