"""What may go wrong while devices train."""

from netsim.errors import InputError


class DivergedError(InputError):
    """Training has left the numbers."""
