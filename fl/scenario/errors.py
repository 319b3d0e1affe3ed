"""What a scenario that cannot be used is."""

from netsim.errors import InputError

_LONGEST = 500


class ScenarioError(InputError):
    """A scenario that cannot be used; one line for each thing that is wrong."""


def cut(text: str, longest: int = _LONGEST) -> str:
    """Return what a message says of a text: only its beginning, if it is long."""
    return text if len(text) <= longest else text[:longest] + "..."
