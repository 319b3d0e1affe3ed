"""Files that are too much to read: too long, too deep, or far larger than they look.

A few lines of YAML can stand for a billion values, by aliases of aliases. A text writes out at
most a value a character, so what holds many more is refused before it is written out.
"""

from collections.abc import Iterator, Mapping

from fl.scenario.errors import ScenarioError

#: Characters of a file: a minute of reading.
LONGEST = 4_000_000
#: Values and characters that Python may hand in: a list for each key of two million devices.
MOST = 10**8
#: What aliases may add to what is written out.
_BY_ALIASES = 100_000
#: Characters of a key; those of a study name several in one.
LONGEST_KEY = 200
#: Blocks within blocks; a scenario has five.
DEEPEST = 20
#: So far Python writes out whole numbers.
_LONGEST_NUMBER_BITS = 14_000


def most_values(text: str) -> int:
    """Return how much a text may hold."""
    return len(text) + _BY_ALIASES


def check_values(value: object, most: int, name: str) -> int:
    """Refuse values that are too many, too deep or too large; return how many there are.

    Args:
        value: A tree of mappings, lists and scalars; some may be in it many times.
        most: How many values and characters there may be.
        name: How errors call it.

    Raises:
        ScenarioError: There are more, or one of them is no value for a scenario.
    """
    count = 0
    to_do: list[tuple[object, int]] = [(value, 0)]
    while to_do:
        one, depth = to_do.pop()
        count += 1 + _length(one, name)
        if count > most:
            raise ScenarioError(f"{name}: stands for more than {most} values and characters")
        if depth > DEEPEST:
            raise ScenarioError(f"{name}: is nested too deeply")
        to_do += [(inner, depth + 1) for inner in _within(one)]
    return count


def _length(value: object, name: str) -> int:
    """Return the characters of a text; a number has none, if it can be."""
    if isinstance(value, str):
        if "\0" in value:
            raise ScenarioError(f"{name}: has a NUL character in a text")
        return len(value)
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER_BITS:
        raise ScenarioError(f"{name}: has a number of more than 4200 digits")
    return 0


def _within(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield item
    elif isinstance(value, list | tuple):
        yield from value
