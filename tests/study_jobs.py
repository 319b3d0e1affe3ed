"""Runs of a study, small or long enough to be killed."""

from fl.scenario import load_scenario
from fl.study.jobs import Job

LONG = {"rounds": 3000}


def quiet(_progress):
    pass


def job(folder, seed=1, **overrides):
    scenario = load_scenario(
        "scenarios/quickstart.yaml", overrides={"rounds": 3, "seed": seed} | overrides
    )
    return Job(scenario, folder / f"seed={seed}")
