"""A run directory, checked again: its files, its laws, and a few of its rounds.

check     something that was looked at, and what is wrong with it
rounds    what holds from round to round
devices   what holds among the devices of a round
events    what the table of events has to say, given the other two
excerpt   some rounds of the tables, as arrays
replay    rounds that are simulated again
verify    all of it
command   straggler verify
"""

from fl.verification.check import Check
from fl.verification.verify import verify

__all__ = ["Check", "verify"]
