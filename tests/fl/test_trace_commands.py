"""The commands on traces as a person uses them, and what they leave.

One of each kind is a real process; the rest call the same command without starting Python
anew, which takes a second each.
"""

import subprocess
import sys
import tracemalloc
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

import fl
from fl.cli import app
from fl.scenario import ScenarioError
from netsim.channel import AtEnd, replay_trace
from netsim.errors import InputError, TraceError
from netsim.traces import Kind, Samples, Trace, read_trace, write_trace

TABLES = ("rounds.parquet", "devices.parquet", "events.parquet")
BASE = {"duration": "1 s", "step": "10 ms", "path_loss": "umi", "placement": "{disc: 100 m}"}
WALK = {"mobility": "{speed: 3 km/h}", "fading": "clarke", "shadowing": "tr-38.901"}


def straggler(*arguments, **options):
    command = [sys.executable, "-m", "fl", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, **options)


def sets(keys):
    return [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]


def within(*arguments):
    """Call the command within this process; what `main` turns into status 2 is raised."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def generate(out, keys=BASE, devices=3, seed=1, call=straggler):
    settings = ["--devices", devices, "--seed", seed, *sets(keys)]
    return call("trace", "generate", out, *settings)


def assert_refused(done):
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture
def small(tmp_path):
    """A trace of four devices of a second, with a silence."""
    rng = np.random.default_rng(2)
    devices = [Samples(np.arange(100) * 0.01, rng.uniform(-110, -90, 100)) for _ in range(4)]
    devices[1].values[40:60] = -np.inf
    path = tmp_path / "small.parquet"
    write_trace(path, Trace(Kind.GAIN_DB, devices, 0.01, {"origin": "a test", "seed": "2"}))
    return path


# Generate


def test_generate_writes_the_trace_it_was_asked_for(tmp_path):
    out = tmp_path / "t.parquet"
    done = generate(out, BASE | WALK, devices=3, seed=7)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{out}: 3 devices\n"
    assert list(tmp_path.iterdir()) == [out]
    trace = read_trace(out)
    assert (trace.kind, trace.step_s, len(trace.devices)) == (Kind.GAIN_DB, 0.01, 3)
    for samples in trace.devices:
        assert samples.times_s == pytest.approx(np.arange(100) * 0.01)
        assert trace.span_s(samples) == pytest.approx(1.0)
        assert len(set(samples.values.tolist())) == 100
        assert -200 < samples.values.min() < samples.values.max() < -40
    assert trace.metadata["seed"] == "7"
    for word in ("umi", "100 m", "3 km/h", "clarke", "tr-38.901", "3.5 GHz", "10 ms"):
        assert word in trace.metadata["generator"]


def test_the_same_seed_writes_the_same_bytes_and_another_seed_other_values(tmp_path):
    assert generate(tmp_path / "one", BASE | WALK, devices=2).returncode == 0
    for name, seed in (("two", 1), ("three", 2)):
        generate(tmp_path / name, BASE | WALK, devices=2, seed=seed, call=within)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    one, three = (read_trace(tmp_path / name).devices[0].values for name in ("one", "three"))
    assert not np.isin(one, three).any()


def test_every_law_can_be_asked_for_on_the_command_line(tmp_path):
    out = tmp_path / "t.parquet"
    keys = {
        "duration": "2 s",
        "step": "100 ms",
        "carrier": "2 GHz",
        "path_loss": "{exponent: 3.5, reference_loss: 40 dB, reference_distance: 2 m}",
        "placement": "{disc: 0.2 km}",
        "mobility": "{waypoint: [1 m/s, 9 km/h], pause: 100 ms}",
        "shadowing": "{sigma: 6 dB, decorrelation: 20 m}",
        "fading": "{rician: 9 dB}",
    }
    assert generate(out, keys, call=within).exit_code == 0
    assert [len(samples.values) for samples in read_trace(out).devices] == [20, 20, 20]


def test_distances_and_losses_may_be_given_for_each_device(tmp_path):
    out = tmp_path / "t.parquet"
    keys = {"duration": "1 s", "step": "1 s", "path_loss": "{loss: [80 dB, 90 dB, 100 dB]}"}
    assert generate(out, keys, devices=3, call=within).exit_code == 0
    assert [one.values.tolist() for one in read_trace(out).devices] == [[-80], [-90], [-100]]


def test_generate_refuses_to_overwrite(small):
    before = small.read_bytes()
    assert "small.parquet: exists already" in assert_refused(generate(small))
    assert small.read_bytes() == before


def test_generate_into_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"/t\.parquet: cannot be written: .*No such file"):
        generate(tmp_path / "none" / "t.parquet", call=within)
    assert list(tmp_path.iterdir()) == []


def test_bad_settings_end_with_one_message_each_and_leave_nothing(tmp_path):
    keys = {
        "fadding": "clarke",
        "duration": "9 m",
        "step": "5",
        "carrier": "3.5 GB",
        "path_loss": "uml",
        "mobility": "{speed: 3 mph}",
    }
    stderr = assert_refused(generate(tmp_path / "t.parquet", keys))
    for message in (
        "fadding: unknown key; did you mean fading?",
        "duration: is not a time: 'm' is not one of s, ms",
        "step: must carry its unit",
        "carrier: is not a frequency: 'GB'",
        "path_loss: must be 'free-space', 'umi' or 'uma'",
        "mobility.speed: is not a speed: 'mph'",
    ):
        assert message in stderr
    assert list(tmp_path.iterdir()) == []


def test_settings_that_contradict_each_other_end_with_one_message_each(tmp_path):
    keys = {
        "duration": "9 ms",
        "step": "10 ms",
        "path_loss": "free-space",
        "shadowing": "tr-38.901",
        "mobility": "{waypoint: [2 m/s, 1 m/s]}",
        "placement": "{distance: 50 m}",
    }
    stderr = assert_refused(generate(tmp_path / "t.parquet", keys))
    for message in (
        "duration: must be at least the step, 10 ms",
        "shadowing: must be none or {sigma: ..., decorrelation: ...}",
        "mobility.waypoint: must be [slowest, fastest]",
        "placement: must be {disc: RADIUS}",
    ):
        assert message in stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mobility": "{sped: 3 km/h}"}, "mobility: must be"),
        ({"mobility": "{speed: -3 km/h}"}, "mobility.speed: must be >= 0"),
        ({"mobility": "{waypoint: [0 m/s, 1 m/s]}"}, "mobility.waypoint.0: must be > 0"),
        ({"mobility": "{waypoint: [1 m/s]}"}, "mobility.waypoint"),
        ({"placement": None}, "placement: is missing; path loss depends on it"),
        ({"placement": "{radius: 5 m}"}, "placement: must be {distance: DISTANCE} or {disc"),
        ({"placement": "{distance: [10 m, 20 m]}"}, "placement.distance: must have one value"),
        ({"mobility": "{speed: [1 m/s, 2 m/s]}"}, "mobility.speed: must have one value"),
        ({"path_loss": "{loss: [90 dB]}"}, "path_loss.loss: must have one value"),
        ({"path_loss": "{exponent: 3}"}, "path_loss.reference_loss: is missing"),
        ({"path_loss": "{exponent: .nan, reference_loss: 40 dB}"}, "path_loss.exponent"),
        ({"device_height": "30 m"}, "device_height: must be between 1.5 m and 22.5 m"),
        ({"base_station_height": "1 m"}, "base_station_height: must be above 1 m"),
        ({"shadowing": "{sigma: -3 dB, decorrelation: 10 m}"}, "shadowing.sigma"),
        ({"fading": "{rician: 4000 dB}"}, "fading.rician"),
        ({"fading": "{block_rayleigh: 0 s}"}, "fading.block_rayleigh: must be > 0"),
        ({"step": None}, "step: is missing"),
        ({"duration": "100000 h", "step": "1 ns"}, "duration"),
        ({"duration": "1e300 h", "step": "1e-300 ns"}, "duration"),
    ],
    ids=str,
)
def test_bad_settings_are_named(tmp_path, changed, message):
    keys = {key: value for key, value in (BASE | changed).items() if value is not None}
    with pytest.raises(InputError) as caught:
        generate(tmp_path / "t.parquet", keys, devices=3, call=within)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_generate_must_be_told_how_many_devices(tmp_path):
    with pytest.raises(InputError, match="say how many --devices, or a --scenario"):
        within("trace", "generate", tmp_path / "t.parquet", *sets(BASE))
    assert generate(tmp_path / "t.parquet", devices=0, call=within).exit_code == 2
    assert list(tmp_path.iterdir()) == []


# Info


def test_info_says_what_is_in_a_trace(small):
    done = straggler("trace", "info", small)
    assert (done.returncode, done.stderr) == (0, "")
    words = done.stdout
    for expected in ("gain_db", "100 over 1 s", "0.01 s median", "a test", "outage"):
        assert expected in words
    assert "5.00% of time" in words  # a fifth of one device of four
    values = np.concatenate([samples.values for samples in read_trace(small).devices])
    assert f"{np.quantile(values, 0.5, method='nearest'):.2f} dB" in words


def test_info_shows_the_whole_sha256_of_the_file(small):
    done = straggler("trace", "info", small)
    whole = "".join(character for character in done.stdout if character.isalnum())
    assert read_trace(small).sha256() in whole


def test_info_warns_of_a_step_that_is_too_coarse_and_only_then(tmp_path):
    keys = {"duration": "20 s", "path_loss": "{loss: 90 dB}", "fading": "clarke"}
    for name, step, warns in (("fine", "1 ms", False), ("coarse", "10 ms", True)):
        out = tmp_path / name
        settings = keys | {"step": step, "mobility": "{speed: 30 km/h}"}
        generate(out, settings, devices=5, call=within)
        done = within("trace", "info", out)
        assert ("warning: the channel changes within" in done.stdout) is warns


def test_info_and_plot_refuse_what_is_not_a_trace(tmp_path):
    path = tmp_path / "bad.parquet"
    assert "no such trace file" in assert_refused(straggler("trace", "info", path))
    path.write_text("time,gain\n")
    for command in ("info", "plot"):
        with pytest.raises(TraceError, match="cannot be read as a Parquet file"):
            within("trace", command, path)


# Plot


def test_plot_draws_a_png_and_an_svg(small, tmp_path):
    png, svg = tmp_path / "a.png", tmp_path / "a.svg"
    done = straggler("trace", "plot", small, "--out", png)
    assert (done.returncode, done.stderr) == (0, "")
    assert within("trace", "plot", small, "--out", svg).exit_code == 0
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert png.read_bytes()[-8:-4] == b"IEND"
    width, height = (int.from_bytes(png.read_bytes()[at : at + 4]) for at in (16, 20))
    assert width > height > 200
    root = ET.fromstring(svg.read_text())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 8  # two lines a device
    assert {path.name for path in tmp_path.iterdir()} == {"a.png", "a.svg", "small.parquet"}


def test_plot_draws_in_the_terminal(tmp_path):
    """A ramp and a notch: the lowest is the lowest block, the silence a blank."""
    times_s = np.arange(60) * 0.1
    ramp, notch = np.linspace(-100, -60, 60), np.full(60, -60.0)
    notch[30:33] = -np.inf
    path = tmp_path / "t.parquet"
    write_trace(path, Trace(Kind.SNR_DB, [Samples(times_s, ramp), Samples(times_s, notch)], 0.1))
    done = straggler("trace", "plot", path)
    assert (done.returncode, done.stderr) == (0, "")
    title, *lines = done.stdout.splitlines()
    assert "-100.0 to -60.0 dB over 6 s" in title
    assert [line[:6].strip() for line in lines] == ["0", "1"]
    drawn = [line[7:] for line in lines]
    assert list(drawn[0]) == sorted(drawn[0])
    assert (drawn[0][0], drawn[0][-1]) == ("▁", "█")
    assert drawn[1] == "█" * 30 + " " * 3 + "█" * 27


def test_plot_draws_the_devices_asked_for(small):
    done = within("trace", "plot", small, "--device", 3, "--device", 1)
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == ["3", "1"]
    with pytest.raises(TraceError, match="has 4 devices, no number 4"):
        within("trace", "plot", small, "--device", 4)


def test_plot_refuses_other_formats_and_to_overwrite(small, tmp_path):
    with pytest.raises(TraceError, match=r"must end in \.png or \.svg"):
        within("trace", "plot", small, "--out", tmp_path / "a.gif")
    (tmp_path / "a.png").write_text("mine")
    message = assert_refused(straggler("trace", "plot", small, "--out", tmp_path / "a.png"))
    assert "exists already" in message
    assert (tmp_path / "a.png").read_text() == "mine"


def test_plot_into_a_folder_that_is_not_there_is_refused(small, tmp_path):
    with pytest.raises(InputError, match=r"/a\.png: cannot be written"):
        within("trace", "plot", small, "--out", tmp_path / "no" / "a.png")


@pytest.mark.parametrize("level", [-np.inf, -80.0])
def test_plot_draws_a_channel_that_is_silent_or_stands_still(tmp_path, level):
    path = tmp_path / "t.parquet"
    write_trace(path, Trace(Kind.SNR_DB, [Samples(np.zeros(1), np.full(1, level))], 0.1))
    line = within("trace", "plot", path).stdout.splitlines()[1]
    assert set(line[7:]) == ({" "} if level == -np.inf else {"█"})
    assert within("trace", "plot", path, "--out", tmp_path / "a.png").exit_code == 0
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


# Replay equals direct use


def write_yaml(path, data):
    with path.open("w") as stream:
        YAML().dump(data, stream)
    return path


@pytest.fixture
def generating(paper_cell):
    """A scenario that generates a channel with everything drawn that can be."""
    paper_cell |= {"rounds": 12, "seed": 11, "scheme": "equal-resource", "deadline": "40 ms"}
    paper_cell["uplink"]["channel"] = {
        "generate": {
            "duration": "1500 ms",
            "step": "2 ms",
            "path_loss": "umi",
            "placement": {"distance": {"uniform": ["20 m", "60 m"]}},
            "mobility": {"speed": {"choice": ["3 km/h", "30 km/h"]}},
            "shadowing": "tr-38.901",
            "fading": "clarke",
        },
        "at_end": "repeat",
        "offset": {"uniform": ["0 s", "1 s"]},
    }
    return paper_cell


def assert_same_tables(one, other):
    for table in TABLES:
        assert (one / table).read_bytes() == (other / table).read_bytes(), table


def test_replaying_a_generated_file_equals_generating(tmp_path, generating):
    direct = write_yaml(tmp_path / "direct.yaml", generating)
    done = straggler("trace", "generate", tmp_path / "t.parquet", "--scenario", direct)
    assert (done.returncode, done.stderr) == (0, "")
    assert read_trace(tmp_path / "t.parquet").metadata["seed"] == "11"
    generating["uplink"]["channel"] = {
        "trace": "t.parquet",
        "at_end": "repeat",
        "offset": {"uniform": ["0 s", "1 s"]},
    }
    replayed = write_yaml(tmp_path / "replayed.yaml", generating)
    for scenario in (direct, replayed):
        done = straggler("run", scenario, "--out", tmp_path / scenario.stem)
        assert done.returncode == 0, done.stderr
    assert_same_tables(tmp_path / "direct", tmp_path / "replayed")
    rounds = pq.read_table(tmp_path / "direct" / "rounds.parquet")
    assert len(set(rounds["latency_s"].to_pylist())) == 12  # the channel does move


def test_generate_of_a_scenario_heeds_its_settings(tmp_path, generating):
    scenario = write_yaml(tmp_path / "direct.yaml", generating)
    keys = {"seed": 3, "devices.count": 4, "uplink.channel.generate.step": "5 ms"}
    out = tmp_path / "t.parquet"
    within("trace", "generate", out, "--scenario", scenario, *sets(keys))
    trace = read_trace(out)
    assert (len(trace.devices), trace.step_s, trace.metadata["seed"]) == (4, 0.005, "3")


@pytest.mark.parametrize("option", [("--devices", 3), ("--seed", 99)])
def test_an_option_that_a_scenario_leaves_without_effect_is_refused(tmp_path, generating, option):
    scenario = write_yaml(tmp_path / "direct.yaml", generating)
    out = tmp_path / "t.parquet"
    with pytest.raises(InputError):
        within("trace", "generate", out, "--scenario", scenario, *option)
    assert not out.exists()


def test_a_scenario_that_generates_nothing_has_no_trace_to_write(tmp_path):
    out = tmp_path / "t.parquet"
    with pytest.raises(ScenarioError, match="has no generate to make a trace from"):
        within("trace", "generate", out, "--scenario", "scenarios/frozen-channel.yaml")
    assert list(tmp_path.iterdir()) == []


def test_the_resolved_scenario_of_a_generated_channel_runs_to_the_same_bytes(tmp_path, generating):
    fl.run(generating, out=tmp_path / "one")
    fl.run(tmp_path / "one" / "scenario.yaml", out=tmp_path / "two")
    assert_same_tables(tmp_path / "one", tmp_path / "two")


def test_a_scenario_refuses_what_the_command_refuses(generating):
    settings = generating["uplink"]["channel"]["generate"]
    for changed, message in (
        ({"fadding": "none"}, "uplink.channel.generate.fadding: unknown key; did you mean fading"),
        ({"path_loss": "free-space"}, "uplink.channel.generate.shadowing: must be none"),
        ({"mobility": {"waypoint": ["1 m/s", "2 m/s"]}}, "must be {disc: RADIUS}"),
        ({"duration": "1 ms"}, "uplink.channel.generate.duration: must be at least the step"),
        ({"placement": {"distance": ["20 m"]}}, "must have one value for each of 10 devices"),
        ({"shadowing": {"sigma": "-1 dB", "decorrelation": "1 m"}}, "shadowing.sigma"),
    ):
        generating["uplink"]["channel"]["generate"] = settings | changed
        with pytest.raises(ScenarioError) as caught:
            fl.run(generating)
        assert message in str(caught.value)


def test_a_generated_channel_needs_powers(generating):
    del generating["devices"]["transmit_power"]
    with pytest.raises(ScenarioError, match=r"devices\.transmit_power: is missing"):
        fl.run(generating)


# Which of the trace's devices each one replays


@pytest.fixture
def steps(tmp_path, paper_cell):
    """A scenario on a trace of five devices, each of one SNR: 0, 10, 20, 30 and 40 dB."""
    times_s = np.arange(2.0)
    devices = [Samples(times_s, np.full(2, 10.0 * number)) for number in range(5)]
    path = tmp_path / "steps.parquet"
    write_trace(path, Trace(Kind.SNR_DB, devices, 1.0))
    paper_cell["devices"] |= {"count": 4, "transmit_power": None}
    paper_cell["uplink"] |= {"noise_power": None, "channel": {"trace": str(path)}}
    paper_cell["uplink"]["channel"]["at_end"] = "repeat"
    return paper_cell


def replayed(scenario, devices):
    """Which of the trace's devices each simulated one sees, told by its SNR."""
    scenario["uplink"]["channel"]["devices"] = devices
    seen = fl.run(scenario, rounds=1).devices["snr_db"].to_pylist()
    return [round(snr_db / 10) for snr_db in seen]


def test_devices_replay_the_trace_by_index_or_as_given(steps):
    assert replayed(steps, "index") == [0, 1, 2, 3]
    assert replayed(steps, [4, 0, 4, 4]) == [4, 0, 4, 4]


def test_devices_drawn_at_random_are_drawn_once_and_from_all(steps):
    steps["devices"]["count"] = 200
    drawn = replayed(steps, "random")
    assert drawn == replayed(steps, "random")
    assert set(drawn) == {0, 1, 2, 3, 4}
    assert max(drawn.count(number) for number in range(5)) < 70
    steps["seed"] = 2
    assert replayed(steps, "random") != drawn


def test_more_devices_than_the_trace_has_need_a_mapping(steps):
    steps["devices"]["count"] = 8
    with pytest.raises(TraceError, match="has 5 devices, numbered from 0; device 7 is asked for"):
        replayed(steps, "index")
    assert replayed(steps, [0, 1, 2, 3, 4, 0, 1, 2]) == [0, 1, 2, 3, 4, 0, 1, 2]


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ([0, 1, 2, 5], "has 5 devices, numbered from 0; device 5 is asked for"),
        ([0, 1], "uplink.channel.devices: must name one for each of 4 devices, has 2"),
        ([0, 1, 2, -1], "uplink.channel.devices.3: must be >= 0"),
        ("rndom", "uplink.channel.devices: must be 'index' or 'random'"),
        ([0, 1, 2, 1.5], "uplink.channel.devices.3: must be a whole number"),
        ([], "uplink.channel.devices: must name one for each of 4 devices, has 0"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(steps, devices, message):
    with pytest.raises((TraceError, ScenarioError)) as caught:
        replayed(steps, devices)
    assert message in str(caught.value)


def test_one_trace_for_many_devices_at_different_offsets_is_not_copied():
    samples = Samples(np.arange(50_000.0), np.random.default_rng(1).uniform(0, 20, 50_000))
    trace = Trace(Kind.SNR_DB, [samples], 1.0)

    def memory(count):
        tracemalloc.start()
        channels = replay_trace(
            trace, AtEnd.REPEAT, [0] * count, list(map(float, range(count))), [1.0] * count
        )
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert [channel.efficiency(0.0) for channel in channels] == pytest.approx(
            np.log2(1 + 10 ** (samples.values[:count] / 10))
        )
        return held

    one, many = memory(1), memory(500)
    assert one > 50_000 * 8
    assert many < 2 * one


def test_a_device_that_serves_many_is_read_once(steps):
    """Even with two hundred devices on a file of five."""

    class Asked(list):
        def __init__(self, devices):
            super().__init__(devices)
            self.numbers = []

        def __getitem__(self, number):
            self.numbers.append(number)
            return super().__getitem__(number)

    opened = read_trace(Path(steps["uplink"]["channel"]["trace"]))
    asked = Asked(opened.devices)
    trace = Trace(opened.kind, asked, opened.step_s)
    replay_trace(trace, AtEnd.HOLD, [3, 1] * 100, [0.0] * 200, [1.0] * 200)
    assert asked.numbers == [3, 1]
