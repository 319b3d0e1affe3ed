"""What the devices of a run learn, round by round, beside the clock.

The devices' updates are begun when a round begins and gathered when it ends; in between the
clock runs on. A round's evaluation looks at weights that do not change until the next round is
gathered, so it is begun at the end of its own round and gathered then, or when somebody asks.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fl.aggregation import MaskedMean
from fl.bound import Constants, Course, convergence_bound, fewest_keepers
from fl.checkpoint import LearningState
from fl.phases import GLOBAL, PERSONAL, WAIT
from fl.torch_stream import one_thread
from fl.training.cohort import Cohort, Task, Timed
from fl.training.engine import Effort, Engine
from fl.training.errors import DivergedError
from fl.training.evaluation import Evaluation
from fl.training.local_update import Update

#: Personal parts of a round that wait until all are known; more are not worth the memory.
_MOST_BYTES_WAITING = 1 << 26


class Tested:
    """The evaluation of one round, begun, and gathered when it is asked for."""

    def __init__(
        self, evaluations: Iterator[Timed[Evaluation]], num_devices: int, effort: Effort
    ) -> None:
        self._evaluations = evaluations
        self._num_devices = num_devices
        self._effort = effort
        self._results: NDArray[np.float64] | None = None
        self.is_known = False
        """Whether it was gathered."""

    def gather(self) -> NDArray[np.float64]:
        """Return loss and accuracy of each device, [2, devices]."""
        if self._results is None:
            timed = list(self._evaluations)
            self._effort.evaluation_s += sum(one.seconds for one in timed)
            self._results = np.array([one.result for one in timed]).T
            self.is_known = True
        return self._results

    def begin_again(self, evaluations: Iterator[Timed[Evaluation]]) -> None:
        """Take the evaluations from elsewhere: those under way may never come."""
        self._evaluations = evaluations

    def abandon(self) -> None:
        """Leave what was not gathered unknown: nobody will compute it any more."""
        if self._results is None:
            self._results = np.full((2, self._num_devices), np.nan)


@dataclass(frozen=True)
class RoundLearnt:
    """What came of a round; see `fl.learner.Learnt`."""

    samples: NDArray[np.int64]
    train_loss: NDArray[np.float64]
    fewest_keepers: int
    tested: Tested | None

    @property
    def test_loss(self) -> NDArray[np.float64] | None:
        """Of each device."""
        return None if self.tested is None else self.tested.gather()[0]

    @property
    def test_accuracy(self) -> NDArray[np.float64] | None:
        """Of each device."""
        return None if self.tested is None else self.tested.gather()[1]


@dataclass
class Learning:
    """Begins what devices learn in a round, and makes the next global part of it."""

    cohort: Cohort
    engine: Engine
    samples: NDArray[np.int64]
    """D_k: how many training samples each device has."""
    voting: NDArray[np.float64]
    """What each device counts for in the mean of Eq. (26)."""
    rounds: int
    evaluate_every: int
    effort: Effort = field(default_factory=Effort)
    _round: int = -1
    _done: int | None = 0
    """The rounds that the weights come of; None while they are half of one and half of another."""
    _devices: Sequence[int] = ()
    _pruned: int = 0
    _pruning: int = 0
    """Of the weights pruned, those of the round under way."""
    _fewest_keepers: list[int] = field(default_factory=list)
    _updates: Iterator[Timed[Update]] = field(init=False)
    _tested: Tested | None = None

    def begin(self, round_: int, kept: Sequence[int], devices: Sequence[int] | None = None) -> None:
        """Let devices train with what is broadcast.

        Args:
            round_: Which round begins.
            kept: How many weights each of them keeps.
            devices: Who takes part; None: everybody.
        """
        self._round = round_
        self._devices = range(len(self.samples)) if devices is None else devices
        self._pruning = sum(len(self.cohort.shared) - weights for weights in kept)
        pairs = zip(self._devices, kept, strict=True)
        tasks = [Task(round_, device, weights) for device, weights in pairs]
        self._updates = self.engine.updates(tasks)

    def aggregate(self, reached: Sequence[int]) -> RoundLearnt:
        """Make the next global part, Eq. (26), and let devices keep their personal parts.

        Who was cut before the end of its personal update has to begin it again in the next round.
        Who did not take part keeps what it had, and is tested with the new global part.
        """
        if self._tested is not None:
            self._tested.gather()  # before what it looks at changes
        mean = MaskedMean(self.cohort.shared)
        personal: dict[int, Tensor] = {}
        num_devices = len(self.samples)
        train_loss = np.full(num_devices, np.nan)
        has_trained = PERSONAL if self.cohort.recipe.update == "alternate" else GLOBAL
        for device, phase in zip(self._devices, reached, strict=True):
            update, seconds = next(self._updates)
            self.effort.training_s += seconds
            self._check(device, update)
            if phase > has_trained:
                personal[device] = update.personal.clone()
                if len(personal) * update.personal.nbytes > _MOST_BYTES_WAITING:
                    self._keep(personal)
            if phase > GLOBAL and update.loss is not None:
                train_loss[device] = update.loss
            if phase == WAIT:
                mean.add(update.shared, update.mask, self.voting[device])
        self._keep(personal)
        self.cohort.shared.copy_(mean.result())
        self._tested = None
        self._pruned += self._pruning
        self._fewest_keepers.append(mean.fewest_keepers)
        self._done = done = self._round + 1
        if done % self.evaluate_every == 0 or done == self.rounds:
            evaluations = self.engine.evaluations(range(num_devices))
            self._tested = Tested(evaluations, num_devices, self.effort)
        return RoundLearnt(self.samples, train_loss, mean.fewest_keepers, self._tested)

    def settle(self) -> None:
        """Test the last round, if that is not done: the run has failed, and its engine may be gone.

        What cannot be tested any more, or not now, is not known.
        """
        tested = self._tested
        if tested is None or tested.is_known:
            return
        try:
            if self._done is not None:
                tested.begin_again(map(self.cohort.evaluate, range(len(self.samples))))
                with one_thread():
                    tested.gather()
        except BaseException:  # noqa: BLE001, S110 -- why the run has failed matters more
            pass
        finally:
            tested.abandon()

    def state(self, done: int) -> LearningState | None:
        """Return what is to be kept beside the weights; None, if these are not of *done* rounds."""
        if self._done != done or (self._tested is not None and not self._tested.is_known):
            return None
        return LearningState(
            pruned=self._pruned,
            fewest_keepers=tuple(self._fewest_keepers),
            training_seconds=self.effort.training_s,
            evaluation_seconds=self.effort.evaluation_s,
        )

    def restore(self, state: LearningState) -> None:
        """Go on where *state* was kept; the weights are there already."""
        self._done = len(state.fewest_keepers)
        self._pruned = state.pruned
        self._fewest_keepers = list(state.fewest_keepers)
        self.effort.training_s = state.training_seconds
        self.effort.evaluation_s = state.evaluation_seconds

    def bound(self, constants: Constants) -> dict[str, float | None]:
        """Return what Theorem 1 says of the rounds so far, and from what; None is infinite."""
        recipe, num_weights = self.cohort.recipe, len(self.cohort.shared)
        course = Course(
            rounds=len(self._fewest_keepers),
            num_devices=len(self.samples),
            num_weights=num_weights,
            personal_iterations=recipe.personal_iterations,
            global_iterations=recipe.global_iterations,
            personal_rate=recipe.personal_rate,
            global_rate=recipe.global_rate,
        )
        keepers = fewest_keepers(np.array(self._fewest_keepers))
        bound = convergence_bound(constants, course, keepers, self._pruned / num_weights)
        told = asdict(constants) | {"keepers": keepers} | asdict(bound) | {"total": bound.total}
        return {name: value if math.isfinite(value) else None for name, value in told.items()}

    def _keep(self, personal: dict[int, Tensor]) -> None:
        """Let devices have their new personal parts: from here on the weights are between rounds."""
        self._done = None
        for device, weights in personal.items():
            self.cohort.personal[device] = weights
        personal.clear()

    def _check(self, device: int, update: Update) -> None:
        if update.loss is not None and not math.isfinite(update.loss):
            what = f"the training loss is {update.loss}"
        elif not (update.shared.isfinite().all() and update.personal.isfinite().all()):
            what = "weights have left the numbers"
        else:
            return
        raise DivergedError(
            f"round {self._round}, device {device}: {what}; lower learning.learning_rate, or take "
            "fewer iterations"
        )
