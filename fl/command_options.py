"""What several commands let one say."""

from typing import Annotated

import typer

AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Run the classes that the scenario names as module:Class. They may do anything that "
        "you may do.",
    ),
]
