import json
import pickle
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from ruamel.yaml import YAML

from fl.scenario import (
    Scenario,
    ScenarioError,
    json_schema,
    load_scenario,
    reference,
    write_scenario,
)

CELL = """\
name: cell
rounds: 5
scheme: equal-resource
deadline: 25 ms
devices:
  count: 3
  cpu_frequency: [1 GHz, 2 GHz, 3 GHz]
  cycles_per_weight: 20
  transmit_power: 28 dBm
uplink:
  bandwidth: 20 MHz
  noise_power: -110 dBm
  channel: {gain: -100 dB}
model: {personal_weights: 10, global_weights: 100}
"""


@pytest.fixture
def cell(tmp_path):
    path = tmp_path / "cell.yaml"
    path.write_text(CELL)
    return path


def refusal(path, *settings):
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path, settings)
    return str(caught.value)


def refusal_of(path, old, new):
    assert old in CELL
    path.write_text(CELL.replace(old, new))
    return refusal(path)


def test_quantities_are_read_in_si(cell):
    scenario = load_scenario(cell)
    assert scenario.deadline == 0.025
    assert scenario.uplink.bandwidth == 20e6
    assert scenario.uplink.noise_power == pytest.approx(1e-14)


def test_what_is_written_reads_the_same(cell, tmp_path):
    scenario = load_scenario(cell)
    text = write_scenario(scenario, tmp_path)
    again = tmp_path / "again.yaml"
    again.write_text(text)
    assert load_scenario(again) == scenario
    assert write_scenario(load_scenario(again), tmp_path) == text
    assert "deadline: 25 ms" in text
    assert "spatial_layers: 1" in text  # a default, written out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("bandwidth:", "bandwith:", ":11: uplink.bandwith: unknown key; did you mean bandwidth?"),
        ("20 MHz", "-20 MHz", ":11: uplink.bandwidth: must be > 0, got '-20 MHz'"),
        ("20 MHz", "20 ms", ":11: uplink.bandwidth: is not a frequency: 'ms' is not one of Hz,"),
        ("20 MHz", "20", ":11: uplink.bandwidth: must carry its unit (Hz, kHz, MHz, GHz)"),
        ("rounds: 5", "rounds: 0", ":2: rounds: must be >= 1, got 0"),
        ("rounds: 5", "rounds: many", ":2: rounds: must be a whole number, got 'many'"),
        ("rounds: 5\n", "", "cell.yaml: rounds: is missing"),
        ("count: 3", "count: 4", "cpu_frequency: must have one value for each of 4 devices, has 3"),
        ("2 GHz", "2 GB", ":7: devices.cpu_frequency: device 1 is not a frequency"),
        ("equal-resource", "equal", ":3: scheme: must be one of proposed, equal-resource,"),
        ("equal-resource", "{prunning: none}", ":3: scheme.prunning: unknown key; did you mean pr"),
        ("equal-resource", "{pruning: {fixed: 2}}", "scheme.pruning.fixed: must be <= 1, got 2"),
        ("equal-resource", "{bandwidth: [0.5, 0.5]}", "one share for each of 3 devices, has 2"),
        ("equal-resource", "{bandwidth: [0.5, 0.5, 0.1]}", "must sum to at most 1, got 1.1"),
        ("deadline: 25 ms\n", "", "deadline: is missing; scheme.pruning: deadline needs it"),
        ("{gain: -100 dB}", "{}", ":13: uplink.channel: must be {gain: GAIN}, {trace: FILE"),
        (
            "{gain: -100 dB}",
            "{gain: -100 dB, at_end: hold}",
            "at_end: unknown key; Known here: gain",
        ),
        ("  noise_power: -110 dBm\n", "", "uplink.noise_power: is missing, or noise_density; the"),
        ("name: cell", "name: ../cell", ":1: name: must match"),
        ("name: cell", "name: cell\nname: bell", "is not valid YAML"),
        ("name: cell", "name: [cell", "is not valid YAML"),
        ("name: cell", "1: cell", "a key must be text, got 1"),
        ("name: cell", "name: !!python/object:os.system cell", "cannot be"),
        ("rounds: 5", "rounds: 5\nlearnig: {dataset: mnist}", ":3: learnig: unknown key"),
    ],
)
def test_a_mistake_is_named_with_its_place(cell, old, new, message):
    assert message in refusal_of(cell, old, new)


def test_every_mistake_is_reported_at_once(cell):
    cell.write_text(CELL.replace("20 MHz", "20").replace("rounds: 5", "rounds: 0"))
    assert len(refusal(cell).splitlines()) == 2


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just text", "\x00\x01", "&a [*a]"])
def test_what_is_no_mapping_is_refused(tmp_path, text):
    path = tmp_path / "odd.yaml"
    path.write_text(text)
    assert "odd.yaml" in refusal(path)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "odd.yaml"
    path.write_bytes(b"\xff\xfe\x00name")
    assert "UTF-8" in refusal(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert "there is no such scenario file" in refusal(tmp_path / "none.yaml")
    assert "cannot be read" in refusal(tmp_path)


def test_aliases_that_explode_are_refused(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines))
    assert "stands for more than" in refusal(path)


@pytest.mark.usefixtures("cell")
def test_extends_lays_one_file_over_another(tmp_path):
    (tmp_path / "sub").mkdir()
    child = tmp_path / "sub" / "child.yaml"
    child.write_text("extends: ../cell.yaml\nname: child\nuplink: {bandwidth: 5 MHz}\n")
    scenario = load_scenario(child)
    assert (scenario.name, scenario.rounds) == ("child", 5)
    assert scenario.uplink.bandwidth == 5e6
    assert scenario.uplink.noise_power == pytest.approx(1e-14)


@pytest.mark.usefixtures("cell")
def test_a_trace_over_a_gain_replaces_it_and_is_found_beside_its_own_file(tmp_path):
    (tmp_path / "sub").mkdir()
    child = tmp_path / "sub" / "child.yaml"
    child.write_text("extends: ../cell.yaml\nuplink: {channel: {trace: t.parquet}}\n")
    grandchild = tmp_path / "grandchild.yaml"
    grandchild.write_text("extends: sub/child.yaml\nuplink: {channel: {offset: 2 s}}\n")
    channel = load_scenario(grandchild).uplink.channel
    assert channel.trace.resolve() == (tmp_path / "sub" / "t.parquet").resolve()
    assert channel.offset.numbers == (2.0,)


def test_a_mistake_in_the_extended_file_is_named_there(cell, tmp_path):
    cell.write_text(CELL.replace("20 MHz", "20"))
    child = tmp_path / "child.yaml"
    child.write_text("extends: cell.yaml\nname: child\n")
    assert "cell.yaml:11: uplink.bandwidth" in refusal(child)


def test_extends_that_leads_nowhere_or_round_in_a_circle_is_refused(tmp_path):
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text("extends: two.yaml\n")
    assert "one.yaml:1: extends: there is no file" in refusal(one)
    two.write_text("extends: one.yaml\n")
    assert "extends itself: one.yaml -> two.yaml -> one.yaml" in refusal(one)
    one.write_text("extends: [a]\n")
    assert "must be the path of a scenario" in refusal(one)


def test_settings_change_single_values(cell):
    settings = ["uplink.bandwidth=5 MHz", "scheme={pruning: none}", "late=wait", "rounds=7"]
    scenario = load_scenario(cell, settings)
    assert scenario.uplink.bandwidth == 5e6
    assert scenario.scheme.pruning == "none"
    assert scenario.rounds == 7


def test_a_setting_of_null_takes_a_value_away(cell):
    assert load_scenario(cell, ["scheme=personalization", "deadline=null"]).deadline is None


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rounds", "--set rounds: must be path.to.key=value"),
        ("=3", "--set =3: must be path.to.key=value"),
        ("rounds=[", "--set rounds=[: is not valid YAML"),
        ("round=3", "--set round=3: round: unknown key; did you mean rounds?"),
        ("foo.bar=3", "--set foo.bar=3: foo: unknown key"),
        ("rounds.x=3", "rounds: must be a whole number"),
        ("uplink.bandwidth=3 s", "--set uplink.bandwidth=3 s: uplink.bandwidth: is not a freq"),
        ("network.broadcast=30 s", "network.broadcast"),
        ("seed=2024-13-45", "is not valid YAML"),
        ("seed=" + "[" * 3000, "is nested too deeply"),
        ("seed=" + "9" * 5000, "seed"),
        ("extends=x.yaml", "extends stands only in a file"),
        ("seed=!!python/object:os.system x", "cannot be"),
        ("rounds=true", "rounds: must be a whole number, got True"),
        ("rounds='5'", "rounds: must be a whole number, got '5'"),
        ("scheme.pruning={fixed: true}", "scheme.pruning.fixed: must be a number"),
        ("devices.count=1000000000000", "devices.count: must be <= 10000000"),
        ("model.global_weights=400000000000000000", "model.global_weights: must be <= 10"),
        ("devices.cycles_per_weight=1" + "0" * 400, "must be a number below 1e+18"),
        ("rounds=null", "rounds: is missing"),
        (
            "scheme={pruning: some}",
            "must be 'none', 'deadline' or 'deadline-common' or {fixed: ...}, got",
        ),
        (
            "scheme={bandwidth: all}",
            "'channel-inversion' or module:Class or a list, one for each device",
        ),
    ],
)
def test_a_bad_setting_is_named_as_it_was_given(cell, setting, message):
    assert message in refusal(cell, "late=drop", setting)


def test_the_schema_knows_every_key_and_accepts_no_other():
    schema = Scenario.model_json_schema()
    assert set(schema["properties"]) == {
        "name", "seed", "rounds", "scheme", "participants", "deadline", "count_warmup", "count_unpruned",
        "late", "csi_age", "iterations", "devices", "uplink", "network", "faults", "model", "learning",
    }  # fmt: skip
    assert schema["additionalProperties"] is False
    assert json.dumps(schema)


def test_the_reference_is_the_one_in_the_documentation_and_explains_every_key():
    table = reference()
    assert table in Path("docs/scenario.md").read_text(encoding="utf-8")
    assert "None" not in table
    assert {"`deadline`", "`devices.cpu_frequency`", "`uplink.channel.gain`"} <= set(table.split())


def test_a_scenario_goes_to_another_process_as_it_is(cell):
    scenario = load_scenario(cell, ["uplink.channel.gain={uniform: [-110 dB, -90 dB]}"])
    there = pickle.loads(pickle.dumps(scenario))
    assert there == scenario
    assert there.written() == scenario.written()
    assert all(number.logarithmic for number in there.uplink.channel.gain.numbers)


def test_null_brings_the_default_back(cell):
    cell.write_text(CELL + "seed: 5\nlate: drop\n")
    assert load_scenario(cell).seed == 5
    scenario = load_scenario(cell, ["seed=null", "late=null", "network=null"])
    assert (scenario.seed, scenario.late) == (1, "wait")


def test_a_choice_laid_over_a_preset_keeps_its_other_three(cell):
    scheme = load_scenario(cell, ["scheme=fedavg", "scheme.pruning={fixed: 0.4}"]).scheme
    assert (scheme.split, scheme.pruning.fixed, scheme.bandwidth) == ("none", 0.4, "equal")


def test_what_is_uniform_between_decibels_is_uniform_in_decibels(cell):
    gain = ["uplink.channel.gain={uniform: [-110 dB, -90 dB]}"]
    drawn = load_scenario(cell, gain).uplink.channel.gain.values(
        20_000, lambda: np.random.default_rng(1)
    )
    quantiles = np.quantile(10 * np.log10(drawn), [0.05, 0.5, 0.95])
    assert quantiles == pytest.approx([-109, -100, -91], abs=0.2)
    clocks = ["devices.cpu_frequency={uniform: [1 GHz, 3 GHz]}"]
    drawn = load_scenario(cell, clocks).devices.cpu_frequency.values(
        20_000, lambda: np.random.default_rng(1)
    )
    assert drawn.mean() == pytest.approx(2e9, rel=0.01)


@pytest.mark.parametrize(
    "path",
    sorted(set(Path("scenarios").rglob("*.yaml")) - set(Path("scenarios/studies").iterdir())),
    ids=lambda p: p.stem,
)
def test_the_json_schema_accepts_what_is_shipped(path):
    plain = YAML(typ="safe").load(path)
    jsonschema.validate(plain, json_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain | {"rouns": 3}, json_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain | {"scheme": "equal"}, json_schema())


@pytest.mark.parametrize(
    "value",
    ["+_", "!!int ''", "!!int +", "!!int 0x", "!!float ''", "!!bool x", "!!timestamp 2001-99-99"],
)
def test_a_value_that_yaml_cannot_make_out_is_told(cell, value):
    assert "cell.yaml: is not valid YAML: " in refusal_of(cell, "rounds: 5", f"rounds: {value}")
    cell.write_text(CELL)
    assert "is not valid YAML: " in refusal(cell, f"rounds={value}")


@pytest.mark.parametrize("key", ["<word>", "<gain>", "<"])
def test_an_unknown_key_in_angle_brackets_is_told_like_any_other(cell, key):
    assert f"cell.yaml:2: {key}: unknown key" in refusal_of(cell, "rounds: 5", f"{key}: 5")
    said = refusal_of(cell, "bandwidth: 20 MHz", f"{key}: 20 MHz")
    assert f"uplink.{key}: unknown key" in said


def test_a_link_to_itself_is_told(tmp_path):
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    assert "loop.yaml: cannot be read" in refusal(tmp_path / "loop.yaml")
