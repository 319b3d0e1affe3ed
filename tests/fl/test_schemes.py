import pytest

import fl
from fl.own_code import OwnCodeError
from fl.scenario import ScenarioError, load_scenario
from fl.schemes import PRESETS
from netsim.errors import InputError

RELEASED = {"release": "redistribute"}


@pytest.fixture
def cell(paper_cell):
    return paper_cell | {"deadline": "100 ms", "scheme": "proposed"}


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_runs(cell, preset):
    run = fl.run(cell | {"scheme": preset})
    assert run.rounds["arrived"].to_pylist() == [10, 10]


def test_a_rule_of_ones_own_shares_the_band(cell):
    gains = [f"{-90 - k} dB" for k in range(10)]
    scheme = {"pruning": "deadline", "bandwidth": "own_rules:WeakestFirst"}
    run = fl.run(cell | {"scheme": scheme}, uplink={"channel": {"gain": gains}}, allow_code=True)
    shares = run.devices["bandwidth_fraction"].to_pylist()[:10]
    assert shares == [0.0] * 5 + [0.2] * 5
    assert run.devices["pruning_ratio"].to_pylist()[:5] == [1.0] * 5


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("own_rules:TooMuch", InputError, "own_rules:TooMuch: round 0: shares must sum to at most"),
        ("own_rules:TooFew", InputError, "must return 10 shares, gave shape (1,)"),
        ("own_rules:Negative", InputError, "shares must be >= 0"),
        ("own_rules:Words", InputError, "must return numbers"),
        (
            "own_rules:Raises",
            InputError,
            ": ValueError: operands could not",
        ),
        ("own_rules:WithArguments", InputError, "cannot be made without arguments"),
        ("own_rules:NoShares", InputError, "must have a method shares(situation)"),
        ("own_rules:None", OwnCodeError, "no class None in"),
        (
            "best",
            ScenarioError,
            "'channel-inversion' or module:Class or a list, one for each device",
        ),
    ],
)
def test_a_rule_that_gives_no_shares_is_refused(cell, name, error, message):
    with pytest.raises(error) as raised:
        fl.run(cell | {"scheme": {"pruning": "deadline", "bandwidth": name}}, allow_code=True)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scheme": {"bandwidth": "optimal", "pruning": "none"}}, "only for that"),
        ({"scheme": {"pruning": "none", "max_pruning_ratio": 0.5}}, "has no effect without"),
        ({"scheme": "proposed", "deadline": None}, "scheme.pruning: deadline needs it"),
        ({"model": {"name": "cnn"}, "scheme": {"split": {}}}, "must name what is personal"),
        ({"scheme": {"split": {"layers": ["a"]}}}, "unknown key"),
        ({"uplink": {"noise_density": "-174 dBm/Hz"}}, "stands in place of noise_power"),
        ({"uplink": {"noise_figure": "7 dB"}}, "belongs to noise_density, which is missing"),
        (
            {"uplink": {"noise_power": None, "noise_density": "1e-20 W/Hz"} | RELEASED},
            "must be hold with noise_density",
        ),
    ],
)
def test_choices_that_do_not_go_together_are_refused(cell, changes, message):
    with pytest.raises(ScenarioError) as raised:
        load_scenario(cell, overrides=changes)
    assert message in str(raised.value)


def test_layers_may_be_shared_and_never_pruned(cell):
    scheme = {"split": {"unpruned": ["fc2.*"]}, "pruning": {"fixed": 1.0}}
    run = fl.run(cell | {"scheme": scheme, "model": {"name": "mlp"}})
    assert set(run.devices["upload_bits"].to_pylist()) == {32 * (128 * 10 + 10)}
