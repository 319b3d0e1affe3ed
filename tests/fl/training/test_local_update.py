"""The laws of one device's round, whatever it learns."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import Forgetful, TinyCnn

from fl.models.split import split_network
from fl.training.batches import Batches, Images
from fl.training.cohort import Cohort, Task
from fl.training.evaluation import evaluate
from fl.training.local_update import local_update
from fl.training.recipe import Recipe
from netsim.streams import Streams

RECIPE = Recipe(
    personal_iterations=2,
    warmup_iterations=1,
    global_iterations=3,
    personal_rate=0.1,
    global_rate=0.1,
    batch_size=8,
)


def images(count=40, labels=10):
    generator = torch.Generator().manual_seed(3)
    pixels = torch.randint(0, 256, (count, 1, 28, 28), dtype=torch.uint8, generator=generator)
    half = torch.full((1, 1, 1), 0.5)
    return Images(pixels, torch.arange(count) % labels, half, half / 2)


def batches(recipe=RECIPE, seed=0, held=40):
    stream = np.random.default_rng(seed)
    return Batches(images(), np.arange(held), recipe.batch_size, recipe.num_batches, stream)


def network(patterns=("conv*",)):
    torch.manual_seed(5)
    return split_network(TinyCnn(), patterns)


def update(net, recipe, kept):
    v, u = net.personal.vector(net.module), net.shared.vector(net.module)
    return local_update(net, recipe, v, u, kept, batches(recipe))


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
@pytest.mark.parametrize("order", ["alternate", "simultaneous"])
@settings(max_examples=15, deadline=None)
@given(part=st.floats(0, 1))
def test_just_so_many_weights_are_kept_and_the_others_stay_zero(optimizer, order, part):
    net = network()
    kept = round(part * net.shared.num_weights)
    recipe = Recipe(2, 1, 2, 0.1, 0.1, 8, update=order, optimizer=optimizer)
    result = update(net, recipe, kept)
    assert result.mask.sum() == kept
    assert result.shared[~result.mask].abs().sum() == 0
    if kept == net.shared.num_weights:
        assert (result.shared != net.shared.vector(net.module)).float().mean() > 0.3


@pytest.mark.parametrize("importance", ["update", "exact"])
def test_what_must_not_be_pruned_is_kept_and_the_count_is_the_same(importance):
    torch.manual_seed(5)
    net = split_network(TinyCnn(), ["conv*", "fc1.weight"], ["fc2.*"])
    assert net.unpruned.sum() == 70
    result = update(net, Recipe(1, 1, 2, 0.1, 0.1, 8, importance=importance), 73)
    assert result.mask[net.unpruned].all()
    assert result.mask.sum() == 73
    free = split_network(TinyCnn(), ["conv*", "fc1.weight"])
    assert not update(free, RECIPE, 6).mask[net.unpruned].all()  # it could have been otherwise


def test_a_pruned_weight_has_no_effect_on_the_others():
    """It is zero while the others learn: their steps are those of a network without it."""
    net = network()
    result = update(net, RECIPE, 100)
    again = network()
    v = update(again, RECIPE, 100).personal
    start = net.shared.vector(net.module) * result.mask
    u = start.clone()
    for batch in batches().take(2, 3):
        u.requires_grad_()
        scores = net.scores(v, u, batch.images)
        (gradient,) = torch.autograd.grad(
            torch.nn.functional.cross_entropy(scores, batch.labels), u
        )
        u = torch.where(result.mask, u.detach() - 0.1 * gradient, torch.zeros(()))
    torch.testing.assert_close(result.shared, u, atol=1e-7, rtol=0)


def test_the_mask_is_laid_on_what_was_broadcast_not_on_what_was_warmed_up():
    net = network()
    recipe = Recipe(0, 2, 0, 0.1, 0.1, 8)
    result = update(net, recipe, 50)
    broadcast = net.shared.vector(net.module)
    assert torch.equal(result.shared, broadcast * result.mask)
    assert result.loss is None


def test_the_inputs_are_left_as_they_were():
    net = network()
    v, u = net.personal.vector(net.module), net.shared.vector(net.module)
    before = v.clone(), u.clone()
    local_update(net, RECIPE, v, u, 70, batches())
    assert torch.equal(v, before[0])
    assert torch.equal(u, before[1])
    assert not v.requires_grad
    assert not u.requires_grad


def test_a_device_that_prunes_all_still_learns_its_personal_part():
    net = network()
    result = update(net, RECIPE, 0)
    assert not result.mask.any()
    assert not result.shared.any()
    assert (result.personal != net.personal.vector(net.module)).any()


def test_exact_importance_decides_if_it_is_asked_to():
    net = network(patterns=("conv*", "fc1*"))
    recipe = Recipe(1, 0, 1, 0.1, 0.1, 8, importance="exact")
    result = update(net, recipe, 30)
    # Eq. (19) on the batch after those of the updates, with the personal part updated.
    (batch,) = batches(recipe).take(2, 1)
    u = net.shared.vector(net.module)

    def loss(weights):
        scores = net.scores(result.personal, weights, batch.images)
        return torch.nn.functional.cross_entropy(scores, batch.labels)

    change = []
    for j in range(len(u)):
        without = u.clone()
        without[j] = 0
        change.append((loss(u) - loss(without)).item() ** 2)
    order = np.argsort(-np.array(change), kind="stable")
    assert set(order[:30]) == set(np.flatnonzero(result.mask.numpy()))


@given(held=st.integers(1, 60), size=st.integers(1, 70), count=st.integers(0, 40))
def test_batches_go_through_all_samples_before_any_comes_again(held, size, count):
    chosen = Batches(images(60), np.arange(held), size, count, np.random.default_rng(1))._chosen
    assert len(chosen) >= count
    assert chosen.shape[1] == min(size, held)
    in_a_pass = held // min(size, held)
    for first in range(0, len(chosen), in_a_pass):
        one_pass = chosen[first : first + in_a_pass].ravel()
        assert len(set(one_pass.tolist())) == len(one_pass)


def test_a_batch_is_normalised():
    data = images()
    batch = data.batch(np.array([3, 1]))
    expected = (data.pixels[[3, 1]].numpy() / 255 - 0.5) / 0.25
    np.testing.assert_allclose(batch.images.numpy(), expected, atol=1e-6)
    assert batch.labels.tolist() == [3, 1]


def test_an_evaluation_counts_what_is_right():
    net, data = network(), images(300)
    v, u = net.personal.vector(net.module), net.shared.vector(net.module)
    held = np.arange(5, 295)  # more than are looked at together
    result = evaluate(net, v, u, data, held)
    batch = data.batch(held)
    scores = net.module(batch.images).detach().double().numpy()
    log_part = np.log(np.exp(scores).sum(axis=1))
    loss = (log_part - scores[np.arange(290), batch.labels]).mean()
    assert result.loss == pytest.approx(loss, rel=1e-5)
    assert result.accuracy == (scores.argmax(axis=1) == batch.labels.numpy()).mean()
    assert np.isnan(evaluate(net, v, u, data, held[:0])).all()


def test_dropout_is_a_function_of_seed_device_and_round():
    torch.manual_seed(5)
    net = split_network(Forgetful(), [])
    data = images()
    cohort = Cohort(
        net,
        RECIPE,
        Streams(7),
        data,
        data,
        [np.arange(40)] * 2,
        [np.arange(40)] * 2,
        torch.empty(2, 0),
        net.shared.vector(net.module),
    )
    state = torch.random.get_rng_state()
    one = cohort.update(Task(0, 1, 100)).result.shared
    torch.rand(3)
    assert torch.equal(one, cohort.update(Task(0, 1, 100)).result.shared)
    assert not torch.equal(one, cohort.update(Task(1, 1, 100)).result.shared)
    torch.random.set_rng_state(state)
    cohort.update(Task(0, 0, 100))
    assert torch.equal(state, torch.random.get_rng_state())  # it is left as it was
