"""Data sets as they are loaded: the one that is made, and those that are published."""

import subprocess
import sys

import pytest
import torch

from fl.data import CATALOGUE, Dataset, DatasetError, Samples, load_dataset

SYNTHETIC = "74acf666e1e4d492a311ac7503a8ac01d8831543c20d86b50a18c2c423903b0e"


@pytest.fixture(scope="module")
def synthetic():
    return load_dataset("synthetic")


@pytest.fixture(scope="module", params=["mnist", "fashion-mnist"])
def published(request, fetched):
    """A real set out of the normal cache, where it stays for the next time."""
    fetched(request.param)
    return load_dataset(request.param)


def normalised(dataset, images):
    mean, std = (torch.tensor(v).view(-1, 1, 1) for v in (dataset.mean, dataset.std))
    return (images / 255 - mean) / std


def nearest_mean_accuracy(dataset):
    """Classify test images by the mean training image that they are nearest to."""
    train = normalised(dataset, dataset.train.images).flatten(1)
    means = [train[dataset.train.labels == label].mean(0) for label in range(dataset.num_labels)]
    test = normalised(dataset, dataset.test.images).flatten(1)
    guess = torch.cdist(test, torch.stack(means)).argmin(1)
    return (guess == dataset.test.labels).float().mean().item()


def assert_as_in_the_catalogue(dataset):
    entry = CATALOGUE[dataset.name]
    for samples, number in ((dataset.train, entry.num_train), (dataset.test, entry.num_test)):
        assert samples.images.shape == (number, *entry.image_shape)
        assert samples.images.dtype == torch.uint8
        assert samples.labels.dtype == torch.int64
        assert len(samples) == number
        assert samples.labels.unique().tolist() == list(range(dataset.num_labels))
    made = normalised(dataset, dataset.train.images)
    assert made.mean((0, 2, 3)).abs().max() < 1e-3
    assert (made.std((0, 2, 3)) - 1).abs().max() < 1e-3


def test_the_synthetic_set_is_as_in_the_catalogue(synthetic):
    assert_as_in_the_catalogue(synthetic)
    assert synthetic.train.labels.bincount().tolist() == [600] * 10


def test_the_synthetic_set_is_always_the_same(synthetic):
    assert synthetic.sha256() == load_dataset("synthetic").sha256() == SYNTHETIC


def test_the_synthetic_set_can_be_learnt_but_not_by_heart(synthetic):
    assert 0.7 < nearest_mean_accuracy(synthetic) < 0.95


def test_a_published_set_is_as_in_the_catalogue(published):
    assert_as_in_the_catalogue(published)


def test_a_published_set_shows_what_its_labels_say(published):
    # Fashion-MNIST: about 68 %, MNIST: about 82 %, whatever the program.
    assert 0.6 < nearest_mean_accuracy(published) < 0.9


def test_the_hash_is_that_of_every_pixel_and_label(synthetic):
    images, labels = synthetic.test.images.clone(), synthetic.test.labels.clone()
    images[500, 0, 3, 3] ^= 1
    labels[7] = (labels[7] + 1) % 10
    other_pixel = Samples(images, synthetic.test.labels)
    other_label = Samples(synthetic.test.images, labels)
    hashes = {
        Dataset("x", synthetic.test, test, 10, (0.5,), (0.5,)).sha256()
        for test in (synthetic.test, other_pixel, other_label)
    }
    assert len(hashes) == 3


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(DatasetError, match=r"^mnits: .* mnist, fashion-mnist, cifar-10 or synth"):
        load_dataset("mnits")


def test_a_set_that_is_not_there_is_refused_with_the_command_that_fetches_it(tmp_path):
    with pytest.raises(DatasetError, match=r"straggler data fetch mnist$"):
        load_dataset("mnist", tmp_path)


@pytest.mark.parametrize("shape", [(3, 28, 28), (2, 1, 28, 28)])
def test_samples_are_labelled_images(shape):
    with pytest.raises(ValueError, match="images"):
        Samples(torch.zeros(shape, dtype=torch.uint8), torch.zeros(3, dtype=torch.int64))


def test_commands_that_need_no_data_do_not_wait_for_torch():
    check = "import sys, fl.data_commands; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_torchvision_can_be_imported_twice_and_without_a_warning():
    check = "from fl.data import import_torchvision as t; t().transforms; import torchvision.models"
    subprocess.run([sys.executable, "-W", "error", "-c", check], check=True)
