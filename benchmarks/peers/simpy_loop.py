"""The latency-only work in SimPy, and nothing else: two timeouts for each device and round."""

import numpy as np
import simpy
from work import Laps, answer, work_of_command


def main() -> None:
    """Simulate, and tell."""
    work, laps, latency_s = work_of_command(), Laps(), []
    spans = list(
        zip(work.arrays["global_s"].tolist(), work.arrays["upload_s"].tolist(), strict=True)
    )
    env = simpy.Environment()

    def device(global_s: float, upload_s: float):  # noqa: ANN202
        yield env.timeout(global_s)
        yield env.timeout(upload_s)

    def server():  # noqa: ANN202
        for _ in range(work.rounds):
            begin = env.now
            yield env.all_of([env.process(device(*span)) for span in spans])
            latency_s.append(env.now - begin)

    laps.stamp()
    env.run(env.process(server()))
    laps.stamp()
    answer(work, laps, np.array(latency_s), work.rounds * work.devices, ("simpy",))


if __name__ == "__main__":
    main()
