"""The work in FedJAX: compiled by XLA, which takes as many threads as there are cores."""

from collections.abc import Iterator

import fedjax
import jax
import jax.numpy as jnp
import numpy as np
from work import Laps, Work, answer, work_of_command

SHAPES = {
    "conv1.weight": (32, 1, 5, 5),
    "conv1.bias": (32,),
    "conv2.weight": (64, 32, 5, 5),
    "conv2.bias": (64,),
    "fc1.weight": (128, 3136),
    "fc1.bias": (128,),
    "fc2.weight": (10, 128),
    "fc2.bias": (10,),
}
"""The parameters of the network, in PyTorch's order and layout."""


def parameters_of(weights: np.ndarray) -> dict[str, jax.Array]:
    """Return the parameters that stand one after the other in *weights*."""
    ends = np.cumsum([np.prod(shape) for shape in SHAPES.values()])
    pieces = np.split(weights, ends[:-1])
    named = zip(SHAPES.items(), pieces, strict=True)
    return {name: jnp.array(turned(piece.reshape(shape))) for (name, shape), piece in named}


def turned(array: np.ndarray, axes: tuple[int, ...] = (2, 3, 1, 0)) -> np.ndarray:
    """Return a kernel with its axes in JAX's order; what is no kernel is left as it is."""
    return array.transpose(axes) if array.ndim == 4 else array


def weights_of(parameters: dict[str, jax.Array]) -> np.ndarray:
    """Return the parameters one after the other, as PyTorch has them."""
    back = {name: turned(np.asarray(parameters[name]), (3, 2, 0, 1)) for name in SHAPES}
    return np.concatenate([array.ravel() for array in back.values()])


def halved(images: jax.Array, parameters: dict[str, jax.Array], layer: str) -> jax.Array:
    """Return the images after one convolution, a 2x2 maximum and a cut at zero."""
    kernel, bias = parameters[f"{layer}.weight"], parameters[f"{layer}.bias"]
    hidden = jax.lax.conv_general_dilated(
        images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    window = (1, 2, 2, 1)
    largest = jax.lax.reduce_window(hidden, -jnp.inf, jax.lax.max, window, window, "VALID")
    return jax.nn.relu(largest + bias)


def loss(parameters: dict[str, jax.Array], batch: dict[str, jax.Array]) -> jax.Array:
    """Return the mean cross-entropy of a batch."""
    hidden = halved(halved(batch["x"], parameters, "conv1"), parameters, "conv2")
    flat = hidden.transpose(0, 3, 1, 2).reshape(len(hidden), -1)
    hidden = jax.nn.relu(flat @ parameters["fc1.weight"].T + parameters["fc1.bias"])
    scores = jax.nn.log_softmax(hidden @ parameters["fc2.weight"].T + parameters["fc2.bias"])
    return -jnp.take_along_axis(scores, batch["y"][:, None], axis=1).mean()


class Counted(fedjax.ClientDataset):
    """The samples of one device in one round, in the order in which it is to see them."""

    steps = 0

    def shuffle_repeat_batch(self, *args: object, **more: object) -> Iterator[dict]:
        """Yield the batches, and count them."""
        for batch in super().shuffle_repeat_batch(*args, **more):
            Counted.steps += 1
            yield batch


def device_data(work: Work, round_: int, device: int) -> Counted:
    """Return what a device sees in a round, normalised."""
    chosen = work.chosen(round_, device).ravel()
    pixels = work.arrays["pixels"][chosen].astype(np.float32) / np.float32(255)
    pixels = (pixels - work.arrays["mean"]) / work.arrays["deviation"]
    return Counted({"x": pixels.transpose(0, 2, 3, 1), "y": work.arrays["labels"][chosen]})


def main() -> None:
    """Train, and tell."""
    work, laps = work_of_command(), Laps()
    gradient = jax.grad(loss)
    algorithm = fedjax.algorithms.fed_avg.federated_averaging(
        lambda parameters, batch, _key: gradient(parameters, batch),
        fedjax.optimizers.sgd(work.learning_rate),
        fedjax.optimizers.sgd(1.0),
        fedjax.ShuffleRepeatBatchHParams(work.batch_size, skip_shuffle=True),
    )
    state = algorithm.init(parameters_of(work.arrays["weights"]))
    key = jax.random.PRNGKey(0)
    laps.stamp()
    for round_ in range(work.rounds):
        devices = range(work.devices)
        state, _ = algorithm.apply(
            state, [(str(device), device_data(work, round_, device), key) for device in devices]
        )
        jax.block_until_ready(state.params)
        laps.stamp()
    answer(work, laps, weights_of(state.params), Counted.steps, ("fedjax", "jax"))


if __name__ == "__main__":
    main()
