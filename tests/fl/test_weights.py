"""Weights of a run under way: what was saved comes back, and nothing else does."""

import io
import zipfile
from types import SimpleNamespace

import pytest
import torch

from fl.checkpoint import CheckpointError
from fl.weights import load_weights, save_weights

SHARED, PERSONAL = torch.arange(4.0), torch.ones(2, 3)


@pytest.fixture
def cohort():
    return SimpleNamespace(shared=torch.zeros(4), personal=torch.zeros(2, 3))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "weights-1.pt"
    save_weights(path, SimpleNamespace(shared=SHARED, personal=PERSONAL))
    return path


def test_what_was_saved_comes_back(path, cohort):
    load_weights(path, cohort)
    assert torch.equal(cohort.shared, SHARED)
    assert torch.equal(cohort.personal, PERSONAL)


def test_weights_that_ask_for_gradients_do_not_make_the_cohort_ask_for_them(path, cohort):
    torch.save({"global": SHARED.clone().requires_grad_(), "personal": PERSONAL}, path)
    load_weights(path, cohort)
    assert torch.equal(cohort.shared, SHARED)
    assert not cohort.shared.requires_grad


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize(
    "make",
    [
        lambda: SHARED.to("meta"),
        lambda: torch.nested.nested_tensor([SHARED, SHARED[:2]]),
        lambda: torch.nn.Parameter(SHARED),
        SHARED.to_sparse,
        lambda: {"global": SHARED},
    ],
    ids=["a shape alone", "nested", "parameter", "sparse", "no tensor"],
)
def test_what_only_looks_like_weights_is_refused(path, cohort, make):
    torch.save({"global": make(), "personal": PERSONAL}, path)
    with pytest.raises(CheckpointError, match=r"weights-1\.pt: has no global part"):
        load_weights(path, cohort)


def test_a_compressed_file_is_refused_before_it_is_unpacked(path, cohort):
    stored = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in stored.namelist():
            packed.writestr(name, stored.read(name))
        packed.writestr("archive/data/9", bytes(10**6))
    with pytest.raises(CheckpointError, match="cannot be read as weights: it is compressed"):
        load_weights(path, cohort)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x02}q\x00."])
def test_what_is_no_archive_is_refused(path, cohort, content):
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"weights-1\.pt: cannot be read as weights"):
        load_weights(path, cohort)
