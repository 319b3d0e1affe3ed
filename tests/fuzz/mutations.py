"""Inputs that are nearly right: sound files with something changed."""

import json
from dataclasses import dataclass

from hypothesis import strategies as st

#: What YAML has a meaning for, and what looks like it.
WORDS = [
    *("null", "~", "true", "no", ".nan", ".inf", "-.inf", "0", "-0", "-1", "1e999", "1e-999"),
    *("9" * 25, "9" * 4500, "0x" + "f" * 4000, "0o17", "0b", "1_000", "+_", "-_", "190:20:30"),
    *("2001-12-14", "2001-12-14t21:59:43.10-05:00", "2001-99-99", "9999-12-31 23:59:60"),
    *("!!int ''", "!!int +", "!!int 0x", "!!float ''", "!!float 1:a", "!!bool x", "!!null x"),
    *("!!str {a: b}", "!!binary aGk=", "!!binary '='", "!!set {a, b}", "!!omap [a: 1]"),
    *("!!pairs [a: 1]", "!!map a", "!!seq a", "!!timestamp x", "!!python/name:os.system x"),
    *("!own x", "!own {a: 1}", "! x", "!<tag:yaml.org,2002:int> x", "&a 1", "*a", "&b [*b]"),
    *("{<<: {a: 1}}", "{<<: [{a: 1}, {b: 2}]}", "{<<: 1}", "{? [a]: 1}", "{? {a: 1}: 1}"),
    *("[]", "{}", "[[[[[[]]]]]]", "{a: {b: {c: {d: 1}}}}", "[" * 50, "''", '"\\0"', '"\\ud800"'),
    *('"<word>"', "<gain>", "\u0661", "\u2028", "\ufeff", "'\U0001f4e1'", "|", ">-", "- a", "? "),
    *("3 ms", "-3 ms", "0 s", "1e400 ms", "1e-400 ms", "3 parsecs", "3", "ms", "1 dB", "-400 dBm"),
    *("5000 dBm", "\u0663 ms", "3 \u03bcs", "1" * 400 + " ms", "tests:Class", "../x", "x" * 300),
    *("{uniform: [1, 2]}", "{uniform: [2 GHz, 1 GHz]}", "{choice: []}", "{choice: [1 dB, x]}"),
    *("all", "none", "index", "[0, 0]", "[-1]", "{fixed: 2}", "{personal: ['*']}", "a: b", ": "),
]
#: What files of any kind are made of.
PIECES = [
    *("\n", "\r", "\t", " ", ",", ":", "- ", "#", "'", '"', "{", "}", "[", "]", "&a ", "*a", "\0"),
    *("%YAML 1.1\n---\n", "%TAG ! a\n---\n", "\n---\n", "\n...\n", "<<: ", "? ", "\x85", "\ufeff"),
]
#: Numbers at the ends of what fits into some bytes.
_ENDS = [b"\x00" * 4, b"\xff" * 4, b"\x7f" + b"\xff" * 7, b"\x00" * 7 + b"\x80", b"\x80\x80\x80\x80\x01"]  # fmt: skip


@dataclass(frozen=True)
class Verbatim:
    """A piece of YAML, as it is to stand there."""

    text: str


class Pairs(list):
    """A mapping in which a key may stand twice, as [key, value] lists."""


def tree_of(value):
    """Return plain values as a tree to change."""
    if isinstance(value, dict):
        return Pairs([[key, tree_of(item)] for key, item in value.items()])
    if isinstance(value, list):
        return [tree_of(item) for item in value]
    return value


def written(tree):
    """Return a tree as YAML; without verbatim pieces, it is JSON as well."""
    if isinstance(tree, Verbatim):
        return tree.text
    if isinstance(tree, Pairs):
        return "{" + ", ".join(f"{written(key)}: {written(item)}" for key, item in tree) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(written, tree)) + "]"
    return json.dumps(tree, ensure_ascii=False)


def _copied(tree):
    if isinstance(tree, Pairs):
        return Pairs([[key, _copied(item)] for key, item in tree])
    return [_copied(item) for item in tree] if isinstance(tree, list) else tree


def _slots(tree):
    """Yield where each value of a tree is: its holder, and the index there."""
    for index, item in enumerate(tree):
        holder, place = (item, 1) if isinstance(tree, Pairs) else (tree, index)
        yield holder, place
        if isinstance(holder[place], list):
            yield from _slots(holder[place])


def _blocks(tree):
    yield tree
    for holder, place in _slots(tree):
        if isinstance(holder[place], list):
            yield holder[place]


def _replace(tree, draw, odd):
    holder, place = draw(st.sampled_from(list(_slots(tree)) or [([None], 0)]))
    holder[place] = _copied(draw(odd))


def _remove(tree, draw, _odd):
    block = draw(st.sampled_from(list(_blocks(tree))))
    if block:
        del block[draw(st.integers(0, len(block) - 1))]


def _add(tree, draw, odd):
    block = draw(st.sampled_from(list(_blocks(tree))))
    value = _copied(draw(odd))
    keys = st.sampled_from([item[0] for item in tree] or ["a"]) | st.sampled_from(WORDS).map(Verbatim)  # fmt: skip
    key = draw(keys | st.text(max_size=5))
    block.append([key, value] if isinstance(block, Pairs) else value)


def _repeat(tree, draw, _odd):
    block = draw(st.sampled_from(list(_blocks(tree))))
    if block:
        block.append(_copied(block[draw(st.integers(0, len(block) - 1))]))


def _move(tree, draw, _odd):
    slots = list(_slots(tree)) or [([None], 0)]
    (holder, place), (other, there) = (draw(st.sampled_from(slots)) for _ in range(2))
    holder[place], other[there] = _copied(other[there]), _copied(holder[place])


def _alias(tree, draw, _odd):
    slots = list(_slots(tree)) or [([None], 0)]
    (holder, place), (other, there) = (draw(st.sampled_from(slots)) for _ in range(2))
    anchored = Verbatim(f"&x {written(holder[place])}")
    other[there] = Verbatim(draw(st.sampled_from(["*x", "{<<: *x}", "[*x, *x]"])))
    holder[place] = anchored


def _wrap(tree, draw, _odd):
    holder, place = draw(st.sampled_from(list(_slots(tree)) or [([None], 0)]))
    for _ in range(draw(st.sampled_from([1, 2, 30]))):
        holder[place] = [holder[place]]


_CHANGES = [_replace, _replace, _replace, _remove, _add, _repeat, _move, _alias, _wrap]


def odd_values(grafts):
    """Values for anywhere: pieces of YAML, plain values, and what stands elsewhere in files."""
    plain = st.none() | st.booleans() | st.integers() | st.floats().map(repr) | st.text(max_size=8)
    number = st.floats(allow_nan=False).map(repr) | st.integers().map(str)
    units = st.sampled_from(["s", "ms", "Hz", "GHz", "dBm", "dB", "dBm/Hz", "km/h", "m", "W", "x"])
    quantities = st.builds("{} {}".format, number, units)
    words = st.sampled_from(WORDS).map(Verbatim)
    found = st.integers(0, len(grafts) - 1).map(grafts.__getitem__)
    return words | found | plain | quantities | st.lists(words, max_size=3)


@st.composite
def changed_trees(draw, trees, odd):
    """One of some trees with a few changes, as text.

    They are given by a function, for hypothesis shows the arguments of a strategy.
    """
    tree = _copied(draw(st.sampled_from(trees())))
    for _ in range(draw(st.integers(1, 4))):
        draw(st.sampled_from(_CHANGES))(tree, draw, odd)
    return written(tree)


def subtrees(trees):
    """Return all that stands in some trees, to be put elsewhere."""
    return [holder[place] for tree in trees for holder, place in _slots(tree)]


@st.composite
def changed_bytes(draw, files):
    """One of some files with some stretches cut out, replaced, repeated, or with bits flipped."""
    content = bytearray(draw(st.sampled_from(files())))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.integers(0, 8) | st.integers(0, 400)))
        how = draw(st.sampled_from(["flip", "flip", "overwrite", "replace", "repeat", "truncate"]))
        piece = draw(
            st.binary(max_size=6)
            | st.sampled_from(_ENDS)
            | st.sampled_from(WORDS + PIECES).map(str.encode)
        )
        if how == "flip" and start < len(content):
            content[start] ^= 1 << draw(st.integers(0, 7))
        elif how == "overwrite":
            content[start : start + len(piece)] = piece
        elif how == "replace":
            content[start:stop] = piece
        elif how == "repeat":
            content[start:start] = content[start:stop]
        elif how == "truncate" and draw(st.booleans()):
            del content[start:]
    return bytes(content)
