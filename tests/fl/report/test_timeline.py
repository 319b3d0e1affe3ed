import base64
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import fl
from fl.report.page import script_safe
from fl.report.recording import Recording
from fl.report.timeline import (
    MOST_DEVICES,
    MOST_ROUNDS,
    STRETCHES,
    Excerpt,
    pack,
    some_rounds,
    timeline_assets,
    timeline_section,
)

ROOT = Path(__file__).parents[3]
QUICKSTART = ROOT / "scenarios" / "quickstart.yaml"
HOSTILE = "</script><script>window.wasHacked = 1</script>\"'&amp;<img src=x onerror=alert(1)>"
SPAN = "const view = window.stragglerTimeline.view(); const span = view.to - view.from;"


def record(folder, **changes):
    fl.run(QUICKSTART, out=folder, **changes)
    return Recording.open(folder)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return record(tmp_path_factory.mktemp("runs") / "run", rounds=5)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    trace = {"trace": str(ROOT / "traces" / "pedestrian.parquet"), "at_end": "repeat"}
    return record(
        tmp_path_factory.mktemp("runs") / "large",
        rounds=MOST_ROUNDS + 10,
        devices={"count": MOST_DEVICES + 20},
        uplink={"channel": trace | {"devices": "random"}, "bandwidth": "200 MHz"},
    )


@pytest.fixture
def opened(browser_page, tmp_path):
    """Opens the timeline of a recording from a file; returns the page."""

    def opened(recording):
        style, script = timeline_assets()
        page = tmp_path / "page.html"
        page.write_text(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
            '<meta name="viewport" content="width=device-width">'
            f"<style>{style}</style><body>{timeline_section(recording)}<script>{script}</script>",
            encoding="utf-8",
        )
        browser_page.goto(page.as_uri())
        settle(browser_page)
        return browser_page

    return opened


def settle(page):
    """Wait until what was asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


def view(page):
    settle(page)
    return page.evaluate("() => window.stragglerTimeline.view()")


def span_s(page):
    now = view(page)
    return now["to"] - now["from"]


def point_at(page, device_lane, at_s):
    """Return where on the page a device's lane is at a time."""
    now, plot = view(page), page.evaluate("() => window.stragglerTimeline.plot()")
    box = page.locator(".timeline-canvas").bounding_box()
    portion = (at_s - now["from"]) / (now["to"] - now["from"])
    x = plot["left"] + portion * (plot["right"] - plot["left"])
    y = plot["top"] + (device_lane + 0.5) * now["laneHeight"] - now["top"]
    return box["x"] + x, box["y"] + y


def tooltip(page):
    settle(page)
    cells = page.locator(".timeline-tooltip span").all_inner_texts()
    return dict(zip(cells[::2], cells[1::2], strict=True))


def pixels(page):
    """Return the colours of the canvas, [height, width, 3]."""
    settle(page)
    width, height, data = page.evaluate(
        """() => {
          const canvas = document.querySelector(".timeline-canvas");
          const { width, height } = canvas;
          const image = canvas.getContext("2d").getImageData(0, 0, width, height);
          let text = "";
          for (let at = 0; at < image.data.length; at += 4096)
            text += String.fromCharCode(...image.data.subarray(at, at + 4096));
          return [width, height, btoa(text)];
        }"""
    )
    raw = np.frombuffer(base64.b64decode(data), np.uint8)
    return raw.reshape(height, width, 4)[..., :3]


def portion_of(image, colour):
    rgb = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return (image == rgb).all(axis=-1).mean()


def unpacked(packed, name, kind, *shape):
    return np.frombuffer(base64.b64decode(packed[name]), kind).reshape(shape or -1)


def in_rounds(recording, column):
    values = pq.read_table(recording.folder / "devices.parquet")[column].to_numpy()
    return values.reshape(recording.num_rounds, recording.num_devices)


# ---- what is packed ----


def test_what_is_packed_equals_the_tables(recording):
    packed = pack(Excerpt.of(recording))
    phases = [phase["name"] for phase in packed["phases"]]
    assert phases == ["personal", "warmup", "global", "upload", "wait"]
    seconds = unpacked(packed, "seconds", "<f8", 5, 10, len(phases))
    for index, phase in enumerate(phases):
        np.testing.assert_array_equal(seconds[..., index], in_rounds(recording, f"{phase}_s"))
    for name, column in (("ratio", "pruning_ratio"), ("share", "bandwidth_fraction")):
        packed_values = unpacked(packed, name, "<f4", 5, 10)
        np.testing.assert_allclose(packed_values, in_rounds(recording, column), rtol=1e-6)
    for name in ("start", "end", "deadline"):
        expected = recording.rounds[f"{name}_s"].to_numpy()
        np.testing.assert_array_equal(unpacked(packed, name, "<f8"), expected)


def test_lengths_summed_up_from_the_start_of_the_round_give_the_times_of_events(recording):
    packed = pack(Excerpt.of(recording))
    names = [phase["name"] for phase in packed["phases"]]
    seconds = unpacked(packed, "seconds", "<f8", 5, 10, len(names))
    start_s = unpacked(packed, "start", "<f8")
    for event in pq.read_table(recording.folder / "events.parquet").to_pylist():
        at_s = start_s[event["round"]]
        for length_s in seconds[event["round"], event["device"], : names.index(event["phase"])]:
            at_s += length_s
        assert at_s == event["start_s"]


def test_the_curve_is_what_the_channel_did_during_the_upload(recording):
    curve = pack(Excerpt.of(recording))["curve"]
    levels = unpacked(curve, "levels", "u1", 5, 10, STRETCHES)
    uploads = pq.read_table(recording.folder / "events.parquet").filter(
        pc.field("phase") == "upload"
    )
    for event in uploads.to_pylist()[::7]:
        r, k = event["round"], event["device"]
        fine_s = np.linspace(event["start_s"], event["end_s"], STRETCHES * 500, endpoint=False)
        efficiency = [recording.channels[k].efficiency(at_s) for at_s in fine_s]
        mean = np.reshape(efficiency, (STRETCHES, 500)).mean(axis=1)
        told_db = curve["low"][k] + (levels[r, k].astype(float) - 1) * curve["step"][k]
        np.testing.assert_allclose(told_db, 10 * np.log10(2**mean - 1), atol=0.25)


def test_on_a_channel_that_stands_still_the_curve_is_the_snr_decided_on(tmp_path):
    fl.run(ROOT / "scenarios" / "frozen-channel.yaml", rounds=2, out=tmp_path / "run")
    recording = Recording.open(tmp_path / "run")
    curve = pack(Excerpt.of(recording))["curve"]
    levels = unpacked(curve, "levels", "u1", 2, recording.num_devices, STRETCHES).astype(float)
    told_db = np.array(curve["low"])[:, None] + (levels - 1) * np.array(curve["step"])[:, None]
    decided_db = np.broadcast_to(in_rounds(recording, "snr_db")[..., None], told_db.shape)
    np.testing.assert_allclose(told_db, decided_db, atol=0.01)
    assert (np.ptp(levels, axis=-1) == 0).all()


def test_without_its_trace_the_timeline_has_no_curve_and_says_so(tmp_path):
    trace = tmp_path / "trace.parquet"
    shutil.copy(ROOT / "traces" / "pedestrian.parquet", trace)
    channel = {"trace": str(trace), "at_end": "repeat"}
    record(tmp_path / "run", rounds=1, uplink={"channel": channel})
    trace.unlink()
    gone = Recording.open(tmp_path / "run")
    assert pack(Excerpt.of(gone))["curve"] is None
    section = timeline_section(gone)
    assert "trace cannot be had any more" in section
    assert "SNR under" not in section


def test_of_many_rounds_the_slowest_are_shown_and_others_from_begin_to_end():
    latency_s = np.ones(1000)
    latency_s[[17, 401, 940]] = 2.0
    rounds = some_rounds(latency_s, 20)
    assert len(rounds) <= 20
    assert {0, 17, 401, 940, 999} <= set(rounds.tolist())
    assert (np.diff(rounds) > 0).all()
    assert some_rounds(latency_s[:20], 20).tolist() == list(range(20))


def test_a_large_run_is_sampled_and_says_so(large):
    section = timeline_section(large)
    assert "Of 120 devices, 100 are shown" in section
    assert re.search(r"Of 210 rounds, (1\d\d|200) are shown", section)


def test_a_small_run_is_not_sampled(recording):
    assert "are shown" not in timeline_section(recording)


def test_what_stands_in_a_script_cannot_end_it():
    text = script_safe(json.dumps({"name": HOSTILE + "<!--\u2028"}, ensure_ascii=False))
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"name": HOSTILE + "<!--\u2028"}


# ---- what a browser makes of it ----


def test_a_name_stays_text(recording, opened):
    scenario = recording.scenario.model_copy(update={"name": HOSTILE})
    page = opened(replace(recording, scenario=scenario))
    label = page.locator(".timeline-canvas").get_attribute("aria-label")
    assert label == f"Timeline of {HOSTILE}, a lane per device"
    assert page.evaluate("() => window.wasHacked") is None
    assert page.locator("section.timeline img").count() == 0


def test_phases_are_drawn_in_their_colours(recording, opened):
    image = pixels(opened(recording))
    assert portion_of(image, "#ee6677") > 0.1  # upload
    assert portion_of(image, "#66ccee") > 0.01  # warm-up
    assert portion_of(image, "#e9ecef") > 0.05  # between the lines of waiting


def test_only_what_is_visible_is_drawn(recording, opened):
    page = opened(recording)
    page.get_by_role("button", name="All rounds").click()
    settle(page)
    everything = page.evaluate("() => window.stragglerTimeline.drawnCount()")
    page.locator(".timeline-round").fill("2")
    page.locator(".timeline-round").press("Enter")
    settle(page)
    one_round = page.evaluate("() => window.stragglerTimeline.drawnCount()")
    assert 0 < one_round < everything / 2


def test_it_opens_at_the_slowest_round_and_the_selector_moves_it(recording, opened):
    page = opened(recording)
    selector = page.locator(".timeline-round")
    rounds = recording.rounds.to_pylist()

    def shows(number):
        now, middle = view(page), (rounds[number]["start_s"] + rounds[number]["end_s"]) / 2
        assert now["from"] < middle < now["to"]
        assert span_s(page) < 1.1 * rounds[number]["latency_s"]
        assert selector.input_value() == str(number)

    shows(max(range(5), key=lambda number: rounds[number]["latency_s"]))
    selector.fill("1")
    selector.press("Enter")
    shows(1)
    page.get_by_role("button", name="Next round").click()
    shows(2)
    page.get_by_role("button", name="Previous round").click()
    page.get_by_role("button", name="Previous round").click()
    shows(0)
    selector.fill("99")
    selector.press("Enter")
    shows(4)
    page.get_by_role("button", name="All rounds").click()
    now = view(page)
    assert (now["from"], now["to"]) == (0.0, rounds[4]["end_s"])


def test_wheel_and_buttons_zoom(recording, opened):
    page = opened(recording)
    whole_s = span_s(page)
    x, y = point_at(page, 4, sum(view(page)[key] for key in ("from", "to")) / 2)
    page.mouse.move(x - 5, y)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"() => {{ {SPAN} return span < {whole_s * 0.8}; }}")
    zoomed_s = span_s(page)
    page.get_by_role("button", name="Zoom in").click()
    assert span_s(page) == pytest.approx(zoomed_s / 1.5)
    page.get_by_role("button", name="Zoom out").click()
    assert span_s(page) == pytest.approx(zoomed_s)


def test_dragging_pans(recording, opened):
    page = opened(recording)
    page.locator(".timeline-round").fill("2")
    page.locator(".timeline-round").press("Enter")
    before = view(page)
    x, y = point_at(page, 4, (before["from"] + before["to"]) / 2)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 100, y, steps=4)
    page.mouse.up()
    after = view(page)
    assert after["from"] > before["from"]
    assert span_s(page) == pytest.approx(before["to"] - before["from"])
    moved_to, _ = point_at(page, 4, (before["from"] + before["to"]) / 2)
    assert moved_to == pytest.approx(x - 100, abs=0.01)  # what was held stays under the pointer


def test_two_fingers_zoom(recording, opened):
    page = opened(recording)
    before_s = span_s(page)
    x, y = point_at(page, 4, sum(view(page)[key] for key in ("from", "to")) / 2)
    devtools = page.context.new_cdp_session(page)
    for kind, apart in (("touchStart", 50), ("touchMove", 100), ("touchMove", 200)):
        points = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    devtools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert span_s(page) == pytest.approx(before_s / 4, rel=0.05)


def told(recording, event):
    """Return what the page must say of an event, from the tables alone."""
    row = {
        column: in_rounds(recording, column)[event["round"], event["device"]]
        for column in (f"{event['phase']}_s", "pruning_ratio", "bandwidth_fraction", "snr_db")
    }
    into_s = event["start_s"] - recording.rounds["start_s"][event["round"]].as_py()
    return {
        "round": str(event["round"]),
        "device": str(event["device"]),
        "phase": event["phase"],
        "start": f"{event['start_s']:.6f} s",
        "into the round": f"{into_s * 1e3:.3f} ms",
        "duration": f"{row[event['phase'] + '_s'] * 1e3:.3f} ms",
        "pruning ratio": f"{np.float32(row['pruning_ratio']):.4f}",
        "share of the band": f"{row['bandwidth_fraction']:.4f}",
        "SNR as decided on": f"{np.float32(row['snr_db']):.2f} dB",
    }


@pytest.mark.parametrize("phase", ["personal", "warmup", "global", "upload", "wait"])
def test_hovering_tells_the_numbers_of_the_tables(phase, recording, opened):
    page = opened(recording)
    page.locator(".timeline-round").fill("3")
    page.locator(".timeline-round").press("Enter")
    events = pq.read_table(recording.folder / "events.parquet").to_pylist()
    of_round = [event for event in events if event["round"] == 3 and event["phase"] == phase]
    for event in of_round[::3]:
        page.mouse.move(*point_at(page, event["device"], (event["start_s"] + event["end_s"]) / 2))
        expected = told(recording, event)
        assert expected.items() <= tooltip(page).items()
        readout = page.locator(".timeline-readout").inner_text()
        assert all(f"{what} {value}" in readout for what, value in expected.items())


def test_a_device_that_was_cut_is_told_to_be(opened, tmp_path):
    dropped = record(tmp_path / "run", rounds=3, late="drop")
    events = pq.read_table(dropped.folder / "events.parquet").to_pylist()
    arrived = in_rounds(dropped, "arrived")
    cut = next(event for event in events if not arrived[event["round"], event["device"]])
    page = opened(dropped)
    page.get_by_role("button", name="All rounds").click()
    page.mouse.move(*point_at(page, cut["device"], (cut["start_s"] + cut["end_s"]) / 2))
    assert tooltip(page)["upload"] == "cut, not arrived"


def test_the_keyboard_does_it_all(recording, opened):
    page = opened(recording)
    page.get_by_label("tall lanes").focus()
    page.keyboard.press("Tab")
    assert tooltip(page)["phase"] == "personal"  # who comes by keyboard begins somewhere
    assert tooltip(page)["device"] == "0"
    page.keyboard.press("Shift+ArrowRight")
    assert tooltip(page)["phase"] == "warmup"
    page.keyboard.press("ArrowDown")
    assert tooltip(page)["device"] == "1"
    assert "device 1, phase" in page.locator(".timeline-readout").inner_text()
    page.keyboard.press("Home")
    first = view(page)
    assert first["from"] == 0.0
    page.keyboard.press("+")
    zoomed_s = span_s(page)
    assert zoomed_s == pytest.approx((first["to"] - first["from"]) / 1.5)
    before = view(page)
    page.keyboard.press("ArrowRight")
    assert view(page)["from"] == pytest.approx(before["from"] + zoomed_s / 10)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("-")
    assert span_s(page) == pytest.approx(zoomed_s * 1.5)
    page.keyboard.press("PageDown")
    assert page.locator(".timeline-round").input_value() == "1"
    page.keyboard.press("a")
    assert span_s(page) == pytest.approx(recording.rounds["end_s"][-1].as_py())
    page.keyboard.press("Escape")
    settle(page)
    assert page.locator(".timeline-tooltip").is_hidden()


def test_in_the_dark_it_is_dark(recording, opened):
    page = opened(recording)
    light = pixels(page)
    page.emulate_media(color_scheme="dark")
    dark = pixels(page)
    assert light[0, 0].mean() > 200
    assert dark[0, 0].mean() < 60
    assert portion_of(dark, "#ee6677") > 0.1


def test_on_a_phone_nothing_sticks_out(recording, opened):
    page = opened(recording)
    page.set_viewport_size({"width": 375, "height": 700})
    settle(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 375
    x, y = point_at(page, 4, sum(view(page)[key] for key in ("from", "to")) / 2)
    page.mouse.move(x, y)
    settle(page)
    box, plot = (page.locator(f".timeline-{part}").bounding_box() for part in ("tooltip", "plot"))
    assert plot["x"] <= box["x"]
    assert box["x"] + box["width"] <= plot["x"] + plot["width"]
    readout = page.locator(".timeline-readout")
    assert readout.evaluate("(text) => text.scrollHeight <= text.clientHeight")


def test_nothing_moves_while_it_is_drawn_and_used(recording, opened):
    page = opened(recording)
    legend = page.locator(".timeline-legend").bounding_box()
    page.mouse.move(*point_at(page, 4, sum(view(page)[key] for key in ("from", "to")) / 2))
    page.get_by_role("button", name="All rounds").click()
    settle(page)
    assert page.locator(".timeline-legend").bounding_box() == legend
    shifts = page.evaluate(
        """() => new Promise((done) => {
          const seen = (list) => done(list.getEntries().map((entry) => entry.value));
          new PerformanceObserver(seen).observe({ type: "layout-shift", buffered: true });
          setTimeout(() => done([]), 200);
        })"""
    )
    assert sum(shifts) == 0


def test_a_hundred_devices_and_two_hundred_rounds_are_drawn_smoothly(large, opened):
    page = opened(large)
    page.get_by_role("button", name="All rounds").click()
    settle(page)
    devtools = page.context.new_cdp_session(page)
    # Of the page's own thread, so that it does not matter what else the machine does.
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy_s():
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    before_s = busy_s()
    page.evaluate(
        """async () => {
          const canvas = document.querySelector(".timeline-canvas");
          for (let n = 0; n < 30; n++) {
            const deltaY = n % 2 ? 20 : -20;
            const wheel = { deltaY, ctrlKey: true, clientX: 500, clientY: 300, cancelable: true };
            canvas.dispatchEvent(new WheelEvent("wheel", wheel));
            await new Promise((done) => requestAnimationFrame(done));
          }
        }"""
    )
    assert page.evaluate("() => window.stragglerTimeline.drawnCount()") > 10_000
    assert (busy_s() - before_s) / 30 < 0.1


def test_tall_lanes_have_curves_and_can_be_moved(large, opened):
    page = opened(large)
    page.get_by_label("tall lanes").check()
    before = view(page)
    assert before["laneHeight"] >= 22
    x, y = point_at(page, 50, (before["from"] + before["to"]) / 2)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 80, steps=3)
    page.mouse.up()
    assert view(page)["top"] == pytest.approx(before["top"] + 80)
