"""A few named files out of an archive that nobody vouches for.

Files are read into memory, and no name out of an archive is ever used as a path; so links,
``..`` and files that nobody asked for do no harm.
"""

import gzip
import io
import tarfile
from collections.abc import Mapping
from typing import IO, Protocol

#: Of an archive, with what nobody asked for: all of it is decompressed on the way.
_MOST_BYTES = 2 * 10**9


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def named_files(archive: IO[bytes], sizes: Mapping[str, int]) -> dict[str, bytes]:
    """Return the contents of some files of a tar archive, compressed or not.

    Args:
        archive: To read from, once, from front to end.
        sizes: Which files, by their names in the archive without a leading ``./``; and how
            many bytes each may have at most.

    Raises:
        ValueError: One is not there, or is larger; or all that lies before it is far too large.
    """
    found: dict[str, bytes] = {}
    passed_over = 0
    with tarfile.open(fileobj=archive, mode="r|*") as opened:
        for member in opened:
            passed_over += member.size
            if passed_over > _MOST_BYTES:
                raise ValueError(f"holds more than {_MOST_BYTES:.0e} bytes")
            name = member.name.removeprefix("./")
            if not member.isreg() or name not in sizes or name in found:
                continue
            content = opened.extractfile(member)
            assert content is not None  # a regular file has content
            found[name] = _at_most(content, sizes[name], name)
            if len(found) == len(sizes):
                return found
    missing = next(name for name in sizes if name not in found)
    raise ValueError(f"holds no file {missing}")


def unzipped(content: bytes, size: int, name: str) -> bytes:
    """Return what was compressed with gzip, if it is not more than *size* bytes.

    Raises:
        ValueError: It is more.
    """
    with gzip.open(io.BytesIO(content)) as opened:
        return _at_most(opened, size, name)


def _at_most(file: _Readable, size: int, name: str) -> bytes:
    content = file.read(size + 1)
    if len(content) > size:
        raise ValueError(f"{name}: is larger than the {size} bytes expected")
    return content
