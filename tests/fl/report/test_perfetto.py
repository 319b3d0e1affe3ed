"""The Chrome trace of a run: laws that any such file keeps, and what the run's tables say."""

import json
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pyarrow.compute as pc
import pytest
import typer
from typer.testing import CliRunner

import fl
from fl.phases import PHASES
from fl.report.perfetto import _stretches, write_perfetto
from fl.report.recording import Recording
from fl.results import Run
from fl.timeline_command import timeline_command
from netsim.channel import AtEnd, Constant, Segments, replay
from netsim.errors import InputError
from netsim.traces import Kind, Samples, Trace, write_trace

SERVER, FIRST_DEVICE = 1, 2
SNR, RATE = "SNR dB", "rate Mb/s"


def refuse_constant(word):
    raise AssertionError(f"{word} is no JSON")


def strict(path):
    return json.loads(path.read_text(encoding="ascii"), parse_constant=refuse_constant)


def ns(event):
    """The time of an event in whole nanoseconds; it must be nothing else."""
    time = round(event["ts"] * 1e3)
    assert event["ts"] == time / 1e3
    return time


def traced(folder, **options):
    path = folder / "timeline.json"
    count = write_perfetto(Recording.open(folder), path, **options)
    trace = strict(path)
    assert len(trace["traceEvents"]) == count
    assert not list(folder.glob(".*"))
    return trace


def slices(trace):
    """Check that the slices of each track nest, and return them.

    Returns:
        For each track (depth, name, begin, end, args), in the order in which they begin.
    """
    done, open_ = defaultdict(list), defaultdict(list)
    for event in trace["traceEvents"]:
        track = event["tid"]
        if event["ph"] == "B":
            assert not open_[track] or open_[track][-1][1] <= ns(event)
            open_[track].append((event["name"], ns(event), event.get("args")))
        elif event["ph"] == "E":
            name, begin, args = open_[track].pop()
            assert begin < ns(event)
            done[track].append((len(open_[track]), name, begin, ns(event), args))
        else:
            assert event["ph"] in "MCsf"
    assert not any(open_.values())
    for found in done.values():
        found.sort(key=lambda item: (item[2], item[0]))
        for depth in (0, 1):
            level = [item for item in found if item[0] == depth]
            assert all(before[3] <= after[2] for before, after in pairwise(level))
        outer = [item for item in found if item[0] == 0]
        for _, _, begin, end, _ in found:
            assert any(b <= begin and end <= e for _, _, b, e, _ in outer)
    return done


def counters(trace, device, key):
    """The steps of a counter: (time in ns, value)."""
    return [
        (ns(event), event["args"][key])
        for event in trace["traceEvents"]
        if event["ph"] == "C" and event["name"] == f"device {device}" and key in event["args"]
    ]


def integral(steps, begin, end):
    """What a rate in Mb/s, constant from step to step, comes to between two times in ns; in bits."""
    edges = [*(at for at, _ in steps), 10**30]
    total = 0.0
    for (at, value), until in zip(steps, edges[1:], strict=True):
        total += max(min(until, end) - max(at, begin), 0) * 1e-9 * value * 1e6
    return total


def check(folder, tolerance=1e-6, **options):
    """Check all laws on a run, and return its trace."""
    trace, run = traced(folder, **options), Run.open(folder)
    tracks = slices(trace)
    check_slices(tracks, run)
    check_arrows(trace, tracks, run)
    if tolerance is not None:
        check_rates(trace, tracks, run, tolerance)
    return trace


def check_slices(tracks, run):
    rounds = [item for item in tracks[SERVER] if item[0] == 0]
    assert rounds == tracks[SERVER]
    for (_, name, begin, end, args), row in zip(rounds, run.rounds.to_pylist(), strict=True):
        assert name == f"round {row['round']}"
        assert (begin, end) == pytest.approx((row["start_s"] * 1e9, row["end_s"] * 1e9), abs=1)
        assert args["latency_ms"] == pytest.approx(row["latency_s"] * 1e3)
        assert args["straggler"] == row["straggler"]
        assert args.get("deadline_missed") == row["deadline_missed"]
        assert args.get("test_accuracy") == row["test_accuracy"]
    rows = {(row["round"], row["device"]): row for row in run.devices.to_pylist()}
    expected = defaultdict(list)
    for event in run.events.to_pylist():
        expected[event["device"]].append(event)
    for track in set(tracks) - {SERVER}:
        device = track - FIRST_DEVICE
        phases = [item for item in tracks[track] if item[0] == 1]
        seen = [event for event in expected[device] if event["end_s"] - event["start_s"] > 1e-9]
        for (_, name, begin, end, _), event in zip(phases, seen, strict=True):
            assert name == event["phase"]
            assert begin == pytest.approx(event["start_s"] * 1e9, abs=1)
            assert end == pytest.approx(event["end_s"] * 1e9, abs=1)
        own = [item for item in tracks[track] if item[0] == 0]
        assert [item[:4] for item in own] == [item[:4] for item in rounds]
        for number, (_, _, begin, end, args) in enumerate(own):
            row = rows[number, device]
            lengths = [e - b for _, _, b, e, _ in phases if begin <= b and e <= end]
            assert sum(lengths) == pytest.approx(end - begin, abs=2)
            assert args["arrived"] == row["arrived"]
            assert args["upload_bits"] == row["upload_bits"]
            assert args["pruning_ratio"] == row["pruning_ratio"]
            assert args["bandwidth_fraction"] == row["bandwidth_fraction"]
            assert float(args["predicted_latency_ms"]) == pytest.approx(
                row["predicted_latency_s"] * 1e3
            )
            assert ("latency_ms" in args) == row["arrived"]


def check_arrows(trace, tracks, run):
    ends = {phase: {} for phase in "sf"}
    for event in trace["traceEvents"]:
        if event["ph"] in "sf":
            assert event["id"] not in ends[event["ph"]]
            ends[event["ph"]][event["id"]] = event
    assert set(ends["s"]) == set(ends["f"])
    came_from = defaultdict(int)
    for number, start in ends["s"].items():
        finish = ends["f"][number]
        assert (start["name"], start["cat"]) == (finish["name"], finish["cat"])
        assert ns(start) <= ns(finish)
        assert finish["bp"] == "e"
        assert finish["tid"] == SERVER
        # An arrow belongs to the slice that its time lies in, and the end does not.
        (upload,) = [s for s in tracks[start["tid"]] if s[2] <= ns(start) < s[3] and s[0] == 1]
        (aggregated,) = [s for s in tracks[SERVER] if s[2] <= ns(finish) < s[3]]
        assert upload[1] == "upload"
        assert upload[3] - ns(start) == 1
        assert aggregated[3] - ns(finish) == 1
        assert aggregated[2] <= upload[2] < aggregated[3]
        came_from[start["tid"] - FIRST_DEVICE] += 1
    for device in (track - FIRST_DEVICE for track in tracks if track != SERVER):
        arrived = [
            row["arrived"] and row["upload_s"] > 0
            for row in run.devices.to_pylist()
            if row["device"] == device
        ]
        assert came_from[device] == sum(arrived)


def check_rates(trace, tracks, run, tolerance):
    for track in set(tracks) - {SERVER}:
        steps = counters(trace, track - FIRST_DEVICE, RATE)
        rows = [row for row in run.devices.to_pylist() if row["device"] == track - FIRST_DEVICE]
        uploads = [item for item in tracks[track] if item[1] == "upload"]
        sent = [row["upload_bits"] for row in rows if row["upload_s"] > 1e-9]
        assert [at for at, _ in steps] == sorted(at for at, _ in steps)
        for (_, _, begin, end, _), bits in zip(uploads, sent, strict=True):
            # A cut upload has sent a whole number of bits, and some of the next.
            assert integral(steps, begin, end) == pytest.approx(bits, rel=tolerance, abs=1)
        # Outside of uploads there is none.
        whole = integral(steps, 0, 10**20)
        assert whole == pytest.approx(sum(sent), rel=tolerance, abs=len(sent))


def test_a_frozen_channel_keeps_all_laws(tmp_path):
    fl.run("scenarios/frozen-channel.yaml", rounds=5, out=tmp_path / "run")
    trace = check(tmp_path / "run", tolerance=1e-6)
    steps = counters(trace, 0, SNR)
    assert len(steps) == 5  # one an upload
    decided = Run.open(tmp_path / "run").devices["snr_db"][0].as_py()
    assert steps[0][1] == pytest.approx(decided, abs=1e-3)


def test_a_moving_channel_keeps_all_laws(tmp_path):
    fl.run("scenarios/quickstart.yaml", rounds=5, out=tmp_path / "run")
    check(tmp_path / "run", tolerance=1e-6)


def test_a_channel_that_moves_seldom_is_shown_with_its_own_steps(tmp_path):
    fl.run("scenarios/quickstart.yaml", rounds=5, out=tmp_path / "run")
    trace = traced(tmp_path / "run")
    tracks = slices(trace)
    for device in range(10):
        uploads = [s for s in tracks[device + FIRST_DEVICE] if s[1] == "upload"]
        edges = {edge for _, _, begin, end, _ in uploads for edge in (begin, end)}
        within = [at for at, _ in counters(trace, device, RATE) if at not in edges]
        # The trace has a value every 5 ms; some of these times are rounded up.
        changes = [
            at
            for _, _, begin, end, _ in uploads
            for at in range(-(-begin // 5_000_000) * 5_000_000, end, 5_000_000)
            if at != begin
        ]
        assert within == pytest.approx(changes, abs=1)
        assert len(changes) > 20


def test_a_channel_that_moves_often_is_shown_in_a_few_stretches(tmp_path):
    fl.run("scenarios/moving-channel.yaml", rounds=3, out=tmp_path / "run")
    trace = check(tmp_path / "run", tolerance=1e-6)
    steps = max((counters(trace, device, RATE) for device in range(10)), key=len)
    assert 3 * 20 < len(steps) <= 3 * 51
    stretches = np.diff([at for at, _ in steps[:20]])
    assert stretches == pytest.approx(stretches[0], abs=2)


def test_deep_fades_and_silences_keep_all_laws(tmp_path, paper_cell, moving_trace):
    paper_cell["uplink"]["channel"] = {"trace": str(moving_trace), "at_end": "repeat"}
    fl.run(paper_cell, rounds=6, out=tmp_path / "run")
    trace = check(tmp_path / "run", tolerance=1e-6)
    lowest = min(value for device in range(10) for _, value in counters(trace, device, SNR))
    assert lowest == -30  # and not -inf
    assert "-30 dB" in trace["otherData"]["counters"]


def test_changes_too_close_to_tell_apart_leave_no_stretch_of_no_length():
    starts_s = np.array([0.0, 1 + 0.2e-9, 1 + 0.5e-9, 2.5])
    channel = replay(Segments(starts_s, np.array([1.0, 2.0, 3.0, 4.0]), 60.0), AtEnd.HOLD)
    # Between two of the changes lies one of the times at which the channel is looked at.
    edges_s = _stretches(channel, 0.3e-9, 30 + 0.3e-9)
    assert edges_s == pytest.approx([0.3e-9, 1 + 1e-9, 2.5, 30 + 0.3e-9], abs=1e-12)


def test_a_channel_that_seems_to_take_something_back_has_carried_nothing(tmp_path, monkeypatch):
    fl.run("scenarios/frozen-channel.yaml", rounds=1, out=tmp_path / "run")
    monkeypatch.setattr(Constant, "carried", lambda *_: -1e-18)
    trace = traced(tmp_path / "run")
    assert [value for _, value in counters(trace, 0, RATE)] == [0.0, 0.0]


def test_where_noise_grows_with_the_share_the_counters_are_those_of_the_share(
    tmp_path, paper_cell, moving_trace
):
    density = {"noise_power": None, "noise_density": "-174 dBm/Hz", "noise_figure": "5 dB"}
    frozen = fl.run(paper_cell, uplink=density, out=tmp_path / "frozen")
    trace = check(tmp_path / "frozen", tolerance=1e-6)
    row = frozen.devices.slice(3, 1).to_pylist()[0]
    narrower_db = -10 * np.log10(row["bandwidth_fraction"])
    assert counters(trace, 3, SNR)[0][1] == pytest.approx(row["snr_db"] + narrower_db, abs=1e-3)
    density["channel"] = {"trace": str(moving_trace), "at_end": "repeat"}
    paper_cell["uplink"] = {"bandwidth": "20 MHz"} | density
    fl.run(paper_cell, out=tmp_path / "moving")
    check(tmp_path / "moving", tolerance=1e-6)


def test_who_is_cut_sends_until_the_cut_and_no_further(tmp_path):
    run = fl.run("scenarios/drop-late.yaml", rounds=10, out=tmp_path / "run")
    trace = check(tmp_path / "run", tolerance=1e-6)
    tracks = slices(trace)
    cut = [row for row in run.devices.to_pylist() if not row["arrived"] and row["upload_s"] > 0]
    assert cut
    for row in cut:
        last = tracks[row["device"] + FIRST_DEVICE]
        own = next(s for s in last if s[1] == f"round {row['round']}")
        (upload,) = [s for s in last if s[1] == "upload" and own[2] <= s[2] < own[3]]
        assert upload[3] == pytest.approx(own[3], abs=1)
    arrows = [event for event in trace["traceEvents"] if event["ph"] == "s"]
    assert len(arrows) == 100 - sum(not row["arrived"] for row in run.devices.to_pylist())


def test_every_phase_has_its_slice(tmp_path, paper_cell):
    paper_cell |= {"scheme": "equal-resource", "deadline": "2 s", "late": "wait"}
    paper_cell["devices"]["pruning_cycles_per_weight"] = 3
    hop = {"capacity": "10 Mbit/s", "latency": "1 ms"}
    paper_cell["network"] = {"backhaul": [hop], "broadcast": "2 ms", "aggregation": "3 ms"}
    fl.run(paper_cell, out=tmp_path / "run")
    trace = check(tmp_path / "run")
    names = {s[1] for found in slices(trace).values() for s in found if s[0] == 1}
    assert names == set(PHASES) - {"lost", "offline"}


def test_what_went_wrong_has_its_slices(tmp_path, paper_cell):
    faults = {"lost": {"probability": 0.3}, "offline": {"probability": 0.3}}
    fl.run(paper_cell, out=tmp_path / "run", faults=faults)
    # Counters tell of the attempt that got through, so bits and rates do not add up here.
    trace = check(tmp_path / "run", tolerance=None)
    names = {s[1] for found in slices(trace).values() for s in found if s[0] == 1}
    assert {"lost", "offline"} < names


def test_phases_that_sum_up_to_more_than_their_round_do_not_stick_out(tmp_path):
    fl.run("scenarios/quickstart.yaml", rounds=3, out=tmp_path / "run")
    opened = Recording.open(tmp_path / "run")
    place = opened.rounds.schema.get_field_index("end_s")
    earlier_s = pc.subtract(opened.rounds["end_s"], 3e-9)
    shortened = opened.rounds.set_column(place, "end_s", earlier_s)
    path = tmp_path / "timeline.json"
    write_perfetto(Recording(opened.folder, opened.scenario, opened.manifest, shortened), path)
    for found in slices(strict(path)).values():
        assert max(end for _, _, _, end, _ in found) == round(earlier_s[2].as_py() * 1e9)


def test_shares_that_change_within_a_round_have_no_rate(tmp_path):
    release = {"release": "redistribute"}
    fl.run("scenarios/quickstart.yaml", rounds=3, uplink=release, out=tmp_path / "run")
    trace = check(tmp_path / "run", tolerance=None)
    assert counters(trace, 0, RATE) == []
    assert len(counters(trace, 0, SNR)) >= 3
    assert "redistribute" in trace["otherData"]["rate"]


def test_without_its_trace_a_run_has_no_counters_and_says_so(tmp_path, paper_cell):
    trace = tmp_path / "gone.parquet"
    samples = [Samples(np.arange(50) * 0.01, np.full(50, -95.0) - np.arange(50) % 3)] * 10
    write_trace(trace, Trace(Kind.GAIN_DB, samples))
    paper_cell["uplink"]["channel"] = {"trace": str(trace), "at_end": "repeat"}
    fl.run(paper_cell, out=tmp_path / "run")
    assert counters(check(tmp_path / "run"), 0, RATE)
    trace.unlink()
    without = check(tmp_path / "run", tolerance=None)
    assert all(event["ph"] != "C" for event in without["traceEvents"])
    assert without["otherData"]["counters"].startswith("none")


def test_a_large_run_is_sampled_and_says_so(tmp_path):
    run = fl.run("scenarios/frozen-channel.yaml", rounds=3, out=tmp_path / "run")
    trace = check(tmp_path / "run", most_devices=4)
    names = {
        (event["name"], event["tid"]): event["args"]
        for event in trace["traceEvents"]
        if event["ph"] == "M"
    }
    assert names["process_name", SERVER]["name"] == "frozen-channel (4 of 10 devices)"
    assert trace["otherData"]["devices"].startswith("4 of 10")
    tracks = set(slices(trace))
    assert len(tracks) == 5
    assert run.rounds["straggler"][0].as_py() + FIRST_DEVICE in tracks
    for track in tracks - {SERVER}:
        assert names["thread_name", track]["name"] == f"device {track - FIRST_DEVICE}"
    order = [names["thread_sort_index", track]["sort_index"] for track in sorted(tracks)]
    assert order == sorted(set(order))
    whole = traced(tmp_path / "run")
    assert whole["otherData"]["devices"] == "10"
    assert whole["traceEvents"][0]["args"]["name"] == "frozen-channel"


def test_what_a_round_has_learnt_stands_on_its_slice(tmp_path, paper_cell):
    learning = {"dataset": "synthetic", "partition": {"by": "iid"}, "evaluate_every": 2}
    paper_cell |= {"model": {"name": "mlp", "hidden": [4]}, "learning": learning, "rounds": 3}
    paper_cell["devices"]["count"] = 2
    fl.run(paper_cell, scheme="fedavg", out=tmp_path / "run")
    found = slices(check(tmp_path / "run"))[SERVER]
    known = ["test_accuracy" in args for *_, args in found]
    assert True in known
    assert False in known


def test_hostile_names_stay_text(tmp_path):
    fl.run("scenarios/frozen-channel.yaml", rounds=1, out=tmp_path / "run")
    recording = Recording.open(tmp_path / "run")
    hostile = '"}]}\n</script>\\\u2028\x00\ud800{'
    scenario = recording.scenario.model_copy(update={"name": hostile})
    path = tmp_path / "timeline.json"
    renamed = Recording(recording.folder, scenario, recording.manifest, recording.rounds)
    write_perfetto(renamed, path)
    trace = strict(path)
    assert trace["otherData"]["scenario"] == hostile
    assert trace["traceEvents"][0]["args"]["name"] == hostile


def test_what_is_infinite_is_said_in_words(tmp_path, paper_cell):
    shares = [0.0, 0.5, 0.5]
    paper_cell |= {"late": "drop", "deadline": "1 s", "scheme": {"bandwidth": shares}}
    paper_cell["devices"]["count"] = 3
    fl.run(paper_cell, out=tmp_path / "run")
    trace = traced(tmp_path / "run")
    tracks = slices(trace)
    assert tracks[FIRST_DEVICE][0][4]["predicted_latency_ms"] == "inf"
    assert {value for _, value in counters(trace, 0, RATE)} == {0.0}


def test_what_is_interrupted_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    folder, path = tmp_path / "run", tmp_path / "timeline.json"
    fl.run("scenarios/frozen-channel.yaml", rounds=1, out=folder)
    path.write_text("before")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fl.report.perfetto._stretches", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_perfetto(Recording.open(folder), path)
    assert path.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == [folder, path]


# The command


def command(*arguments):
    app = typer.Typer()
    app.command()(timeline_command)
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


@pytest.fixture
def folder(tmp_path):
    fl.run("scenarios/frozen-channel.yaml", rounds=1, out=tmp_path / "run")
    return tmp_path / "run"


def test_the_command_says_where_the_file_is_and_how_to_open_it(folder):
    for _ in range(2):  # the second call replaces what the first one left
        done = command(folder)
        assert done.exit_code == 0
        num_events = len(strict(folder / "timeline.json")["traceEvents"])
        assert f"{folder / 'timeline.json'}: {num_events} events" in done.stdout
        assert "ui.perfetto.dev" in done.stdout
        assert "Open trace file" in done.stdout


def test_the_command_writes_where_it_is_told_but_over_nothing(folder, tmp_path):
    out = tmp_path / "elsewhere.json"
    command(folder, "--out", out)
    assert slices(strict(out))
    assert not (folder / "timeline.json").exists()
    manifest = (folder / "manifest.json").read_text()
    with pytest.raises(InputError, match="exists already"):
        command(folder, "--out", folder / "manifest.json")
    assert (folder / "manifest.json").read_text() == manifest


def test_bad_input_is_refused_with_one_message(folder, tmp_path):
    with pytest.raises(InputError, match="holds no results"):
        command(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no results"):
        command(tmp_path)
    for out in (tmp_path / "no" / "such" / "t.json", folder / "scenario.yaml" / "t.json"):
        with pytest.raises(InputError, match=r"t\.json: cannot be written: ") as refused:
            command(folder, "--out", out)
        assert "\n" not in str(refused.value)
    (folder / "timeline.json").mkdir()
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        command(folder)
    assert not list(folder.glob(".*"))
