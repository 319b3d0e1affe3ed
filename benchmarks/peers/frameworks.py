"""Who takes part, with which script, and how each uses the cores."""

from dataclasses import dataclass

TORCH = "torch==2.13.0"
TORCHVISION = "torchvision==0.28.0"


@dataclass(frozen=True)
class Framework:
    """One that does the work."""

    name: str
    script: str
    cores: str
    """How it uses them, in words."""
    requirements: tuple[str, ...] = ()
    """What its environment is made of; none: the one that runs this."""
    launcher: tuple[str, ...] = ()
    """What stands between Python and the script; {cores} is filled in."""
    changes: tuple[tuple[str, str], ...] = ()
    """Entries of its order that differ."""


OURS = Framework(
    "Straggler, --engine processes",
    "ours.py",
    "a process of one thread for each",
    changes=(("engine", "processes"),),
)
LEARNING = (
    Framework(
        "Straggler, --engine inline", "ours.py", "one thread", changes=(("engine", "inline"),)
    ),
    Framework(
        "Flower",
        "flower.py",
        "a Ray actor of one thread for each",
        (TORCH, "flwr[simulation]==1.41.0"),
    ),
    Framework(
        "pfl",
        "pfl_research.py",
        "a process of one thread for each (torchrun)",
        (TORCH, "pfl[pytorch]==0.6.0"),
        ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node={cores}"),
    ),
    Framework(
        "fluke",
        "fluke_fedavg.py",
        "one process, a thread for each",
        (TORCH, TORCHVISION, "fluke-fl==0.8.1"),
    ),
    Framework(
        "FedLab",
        "fedlab_standalone.py",
        "one process, a thread for each",
        (TORCH, TORCHVISION, "fedlab==1.3.0"),
    ),
    Framework(
        "FedJAX",
        "fedjax_averaging.py",
        "one process, XLA's threads",
        # The last release of FedJAX asks for functions that later ones of JAX have dropped.
        (
            "fedjax==0.0.17",
            "jax==0.4.30",
            "jaxlib==0.4.30",
            "dm-haiku==0.0.12",
            "numpy==1.26.4",
            "scipy==1.13.1",
        ),
    ),
)

OUR_CLOCK = Framework("Straggler", "ours_clock.py", "one thread")
CLOCKS = (
    Framework("bare SimPy loop", "simpy_loop.py", "one thread"),
    Framework(
        "FedScale's clock", "fedscale_clock.py", "one thread", ("numpy==2.4.6", "fedscale==1.0")
    ),
)
