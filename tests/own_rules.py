"""Rules for the band, as a user would write them."""

import numpy as np


class WeakestFirst:
    """The half of the devices with the worst channels divides the band."""

    def shares(self, situation):
        rates = situation.noise.rate_bps(np.ones(len(situation.cost.frequency_hz)))
        weak = rates <= np.median(rates)
        return weak / weak.sum()


class Raises:
    def shares(self, _situation):
        return np.ones(3) + np.ones(4)


class WithArguments:
    def __init__(self, what):
        self.what = what

    def shares(self, _situation):
        return []


class NoShares:
    pass


class TooMuch:
    def shares(self, situation):
        return np.full(len(situation.cost.frequency_hz), 0.5)


class TooFew:
    def shares(self, _situation):
        return [1.0]


class Negative:
    def shares(self, situation):
        return -np.ones(len(situation.cost.frequency_hz))


class Words:
    def shares(self, _situation):
        return ["a", "b"]


class ByNumber:
    """The higher its number, the more band a device has."""

    def shares(self, situation):
        return (situation.devices + 1) / (situation.devices + 1).sum()
