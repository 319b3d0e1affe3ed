"""What is in a trace: its shape, its distribution, how fast it changes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.traces.trace import Kind, Samples, Trace
from netsim.units import gains_to_linear

QUANTILES = (0.01, 0.1, 0.5, 0.9, 0.99)
#: Devices that the slower figures look at, evenly over the trace.
_LOOKED_AT = 50


@dataclass(frozen=True)
class TraceInfo:
    """A trace in a few numbers."""

    kind: Kind
    num_devices: int
    num_samples: int
    """Of the first device."""
    span_s: float
    """Of the first device."""
    steps_s: tuple[float, float, float]
    """Shortest, median and longest time between samples."""
    quantiles: dict[float, float]
    """Of the values."""
    outage: float
    """The portion of time without any signal."""
    coherence_s: float
    """The lag at which the autocorrelation of the power (of the efficiency, in a trace of
    that) falls to a quarter. Under Rayleigh fading that of the field is then a half, the
    usual measure. inf if it never falls."""
    looked_at: int
    """How many devices the figures are from."""

    @property
    def too_coarse(self) -> bool:
        """Whether the channel changes faster than it was sampled."""
        return self.coherence_s < 2 * self.steps_s[1]


def trace_info(trace: Trace) -> TraceInfo:
    """Look at a trace, or at some devices of a large one, one at a time."""
    count = len(trace.devices)
    chosen = np.unique(np.linspace(0, count - 1, min(count, _LOOKED_AT)).astype(int)).tolist()
    steps, values, silent_s, spans_s, correlations = [], [], 0.0, [], []
    for number in chosen:
        samples = trace.devices[number]
        span_s = trace.span_s(samples)
        lengths_s = np.diff(samples.times_s - samples.times_s[0], append=span_s)
        steps.append(lengths_s)
        values.append(samples.values)
        spans_s.append(span_s)
        silent_s += float(lengths_s[_silent(trace.kind, samples)].sum())
        correlations.append(_autocorrelation(trace.kind, samples, lengths_s))
    all_steps, all_values = np.concatenate(steps), np.concatenate(values)
    shortest = min(map(len, correlations))
    mean_correlation = np.mean([one[:shortest] for one in correlations], axis=0)
    median_s = float(np.median(all_steps))
    return TraceInfo(
        kind=trace.kind,
        num_devices=count,
        num_samples=len(values[0]),
        span_s=spans_s[0],
        steps_s=(float(all_steps.min()), median_s, float(all_steps.max())),
        quantiles={q: float(np.quantile(all_values, q, method="nearest")) for q in QUANTILES},
        outage=silent_s / sum(spans_s),
        coherence_s=_falls_to_quarter(mean_correlation) * median_s,
        looked_at=len(chosen),
    )


def _silent(kind: Kind, samples: Samples) -> NDArray[np.bool_]:
    nothing = 0.0 if kind is Kind.SPECTRAL_EFFICIENCY else -np.inf
    return samples.values == nothing


def _autocorrelation(
    kind: Kind, samples: Samples, lengths_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the autocorrelation by lag in samples, on a regular grid of the median step."""
    step_s = float(np.median(lengths_s))
    grid_s = samples.times_s[0] + np.arange(round(float(lengths_s.sum()) / step_s)) * step_s
    index = np.searchsorted(samples.times_s, grid_s + 1e-9 * step_s, side="right") - 1
    values = samples.values[index]
    level = values if kind is Kind.SPECTRAL_EFFICIENCY else gains_to_linear(values)
    level = level / level.mean() - 1.0 if level.any() else level
    if np.abs(level).max() < 1e-12:
        return np.ones(len(level))
    spectrum = np.abs(np.fft.rfft(level, 2 * len(level))) ** 2
    correlation = np.fft.irfft(spectrum)[: max(len(level) // 2, 1)]
    return correlation / correlation[0]


def _falls_to_quarter(correlation: NDArray[np.float64]) -> float:
    """Return the lag, in samples, at which it first falls to a quarter, interpolated."""
    below = np.flatnonzero(correlation <= 0.25)
    if not len(below):
        return float("inf")
    after = int(below[0])
    high, low = correlation[after - 1], correlation[after]
    return float(after - 1 + (high - 0.25) / (high - low))
