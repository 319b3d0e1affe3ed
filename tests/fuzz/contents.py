"""Files that are well-formed and odd, as strategies: what is wrong with them is what they say."""

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz import sound
from fuzz.mutations import WORDS, Pairs, changed_trees, odd_values, subtrees, tree_of, written
from hypothesis import strategies as st
from ruamel.yaml import YAML


def _trees(texts):
    return [tree_of(YAML(typ="safe", pure=True).load(text)) for text in texts]


def yaml_files(texts):
    """One of some YAML files with other keys and values."""
    trees = _trees(texts)
    grafts = subtrees(_trees([*sound.scenarios(), *sound.studies()]))
    return changed_trees(lambda: trees, odd_values(grafts)).map(str.encode)


def settings_of(texts):
    """What ``--set`` may be given: keys of some YAML files, or something like them, and values."""
    grafts = subtrees(_trees(texts))
    paths = sorted({path for tree in _trees(texts) for path in _paths(tree)})
    keys = st.sampled_from(paths) | st.text(max_size=9) | st.sampled_from(WORDS)
    values = odd_values(grafts).map(written) | st.text(max_size=9)
    return st.builds("{}={}".format, keys, values) | st.text(max_size=20)


def _paths(tree, above=()):
    """Yield the dotted path of every key."""
    for key, value in tree:
        yield ".".join([*above, key])
        if isinstance(value, Pairs):
            yield from _paths(value, (*above, key))


def json_files(texts):
    """One of some JSON files with other keys and values."""
    trees = [tree_of(json.loads(text)) for text in texts]
    return changed_trees(lambda: trees, odd_values(subtrees(trees))).map(str.encode)


_TIMES = st.floats(width=64) | st.integers(-3, 9).map(float)
#: What a column may be, by its type.
_COLUMNS = {
    pa.int32(): st.integers(-2, 3) | st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-2, 3) | st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 3) | st.integers(0, 2**64 - 1),
    pa.int8(): st.integers(-128, 127),
    pa.float64(): _TIMES,
    pa.float32(): st.floats(width=32),
    pa.float16(): st.floats(width=16),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=3),
    pa.binary(): st.binary(max_size=3),
    pa.timestamp("us"): st.integers(-(2**40), 2**40),
    pa.decimal128(9, 2): st.decimals(-9, 9, places=2),
    pa.list_(pa.float64()): st.lists(_TIMES, max_size=2),
    pa.struct([("a", pa.float64())]): st.fixed_dictionaries({"a": _TIMES}),
    pa.dictionary(pa.int8(), pa.float64()): st.floats(0, 3),
    pa.null(): st.none(),
}
_NAMES = st.sampled_from(["device", "time_s", "gain_db", "snr_db", "spectral_efficiency", "x"])


@st.composite
def _column(draw, type_, count):
    values = _COLUMNS[type_]
    if draw(st.integers(0, 9)) == 0:
        values |= st.none()
    items = draw(st.lists(values, min_size=count, max_size=count))
    if pa.types.is_dictionary(type_):
        return pa.array(items, type_.value_type).dictionary_encode().cast(type_)
    return pa.array(items, type_)


@st.composite
def parquet_files(draw):
    """Parquet files that are nearly traces: other types, orders, layouts and metadata."""
    sizes = draw(st.lists(st.integers(0, 4), max_size=4))
    count = sum(sizes)
    steps = st.integers(0, 5) | st.floats(-1, 1e300)
    times = np.cumsum(draw(st.lists(steps, min_size=count, max_size=count)) or [0.0])[:count]
    columns = {
        "device": pa.array(np.repeat(np.arange(len(sizes)), sizes), pa.int32()),
        "time_s": pa.array(times, pa.float64()),
        draw(_NAMES): draw(_column(pa.float64(), count)),
    }
    names, arrays = list(columns), list(columns.values())
    for _ in range(draw(st.integers(0, 2))):
        names.append(draw(_NAMES))
        arrays.append(draw(st.sampled_from(list(_COLUMNS)).flatmap(lambda t: _column(t, count))))
        if draw(st.booleans()):  # in the place of the one that is there
            names, arrays = _without_first(names, arrays)
    metadata = draw(st.dictionaries(st.sampled_from(["step", "kind", "", "\u00e9"]), st.sampled_from(WORDS)))  # fmt: skip
    table = pa.Table.from_arrays(arrays, names=names).replace_schema_metadata(metadata)
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        row_group_size=draw(st.integers(1, 5)),
        write_statistics=draw(st.booleans()),
        store_schema=draw(st.booleans()),
        use_dictionary=draw(st.booleans()),
        compression=draw(st.sampled_from(["none", "zstd", "gzip"])),
        data_page_version=draw(st.sampled_from(["1.0", "2.0"])),
    )
    return sink.getvalue()


def _without_first(names, arrays):
    first = names.index(names[-1])
    return names[:first] + names[first + 1 :], arrays[:first] + arrays[first + 1 :]


@st.composite
def journal_files(draw, files):
    """Streams that are nearly the tables of a run: other rows, types, and pieces."""
    tables = [pa.ipc.open_stream(files()[0]).read_all()]
    for _ in range(draw(st.integers(1, 3))):
        table = draw(st.sampled_from(tables))
        start = draw(st.integers(0, table.num_rows))
        table = table.slice(start, draw(st.integers(0, table.num_rows)))
        place = draw(st.integers(0, table.num_columns - 1))
        field = table.schema.field(place)
        type_ = draw(st.just(field.type) | st.sampled_from(list(_COLUMNS)))
        if type_ in _COLUMNS:
            column = draw(_column(type_, table.num_rows))
            table = table.set_column(place, field.with_type(type_), column)
        tables.append(table)
    sink = io.BytesIO()
    for table in draw(st.lists(st.sampled_from(tables), min_size=1, max_size=4)):
        codec = draw(st.sampled_from([None, "zstd", "lz4"]))
        options = pa.ipc.IpcWriteOptions(compression=codec)
        with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
    return sink.getvalue()
