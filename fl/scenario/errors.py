"""What a scenario that cannot be used is."""

from netsim.errors import InputError


class ScenarioError(InputError):
    """A scenario that cannot be used; one line for each thing that is wrong."""
