"""The latency-only work on FedScale's clock: a formula for each device, then the largest.

FedScale advances its clock by the slowest of those it takes part with; the aggregator that does
so is a server with many dependencies, and its loop over the devices is written out here. What
it asks (how long does a device take, is it there) is asked of FedScale.
"""

from types import SimpleNamespace

import numpy as np
from fedscale.cloud.client_manager import ClientManager
from work import Laps, Work, answer, work_of_command

BATCH, STEPS, PASSES = 1, 1, 3.0  # FedScale multiplies a device's speed by all three


def registered(work: Work) -> ClientManager:
    """Return FedScale's devices: milliseconds a sample, and bits a second."""
    settings = SimpleNamespace(filter_less=0, filter_more=float("inf"), device_avail_file=None)
    devices = ClientManager("random", settings)
    rates = work.arrays["upload_bits"] / work.arrays["upload_s"]
    for device, (global_s, rate) in enumerate(zip(work.arrays["global_s"], rates, strict=True)):
        speed = {"computation": 1000 * global_s / (BATCH * STEPS * PASSES), "communication": rate}
        devices.register_client(0, device, 1, speed)
    return devices


def main() -> None:
    """Advance the clock, and tell."""
    work, laps, latency_s, now_s = work_of_command(), Laps(), [], 0.0
    devices = registered(work)
    upload_bits = work.arrays["upload_bits"].tolist()
    laps.stamp()
    for _ in range(work.rounds):
        spans = []
        for device, bits in enumerate(upload_bits):
            cost = devices.get_completion_time(device, BATCH, STEPS, bits, 0)
            span_s = cost["computation"] + cost["communication"]
            if devices.isClientActive(device, now_s + span_s):
                spans.append(span_s)
        latency_s.append(max(spans))
        now_s += latency_s[-1]
    laps.stamp()
    answer(work, laps, np.array(latency_s), work.rounds * work.devices, ("fedscale",))


if __name__ == "__main__":
    main()
