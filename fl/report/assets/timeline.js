// The timeline of a run in the page: controls, keys and pointers, and what is said of a phase.

const ZOOM_STEP = 1.5;
const UNARRIVED = { 1: "cut, not arrived", 2: "not arrived: offline", 3: "not arrived: given up" };

/** Returns the numbers of a phase, each with what it is. */
function facts(run, { r, k, p, start, seconds }) {
  const at = r * run.numDevices + k;
  const rows = [
    ["round", `${run.round[r]}`],
    ["device", `${run.devices[k]}`],
    ["phase", run.phases[p].name],
    ["start", `${start.toFixed(6)} s`],
    ["into the round", `${((start - run.start[r]) * 1e3).toFixed(3)} ms`],
    ["duration", `${(seconds * 1e3).toFixed(3)} ms`],
    ["pruning ratio", run.ratio[at].toFixed(4)],
    ["share of the band", run.share[at].toFixed(4)],
    ["SNR as decided on", decibels(run.snr[at])],
  ];
  if (p === run.upload && run.curve) rows.push(["SNR meanwhile", range(run.snrDuring(r, k))]);
  if (run.outcome[at]) rows.push(["upload", UNARRIVED[run.outcome[at]]]);
  return rows;
}

function decibels(db) {
  return Number.isFinite(db) ? `${db.toFixed(2)} dB` : "none";
}

function range(snr) {
  const [low, high] = [Math.min(...snr), Math.max(...snr)];
  return `${Number.isFinite(low) ? low.toFixed(1) : "none"} to ${high.toFixed(1)} dB`;
}

/** The section of the page: its controls, its canvas, and what is said of the phase at hand. */
class Timeline {
  constructor(section) {
    this.part = (name) => section.querySelector(`.timeline-${name}`);
    const packed = JSON.parse(this.part("data").textContent);
    this.canvas = this.part("canvas");
    this.run = new Run(packed);
    this.view = new View(this.run);
    this.painter = new Painter(section, this.canvas, this.run, this.view);
    this.selected = null;
    this.frame = 0;
    this.pointers = new Map();
    this.isWheelOurs = false;
    this.measure();
    this.view.showRound(this.run.round.indexOf(packed.open_at));
    this.listenToControls();
    this.listenToPointers();
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.canvas.addEventListener("focus", () => this.onFocus());
    new ResizeObserver(() => this.measure()).observe(this.canvas);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.change(() => this.painter.readColours()));
  }

  /** Does something to what is visible, then shows it with the next frame. */
  change(something = () => {}) {
    something();
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = 0;
    if (this.view.width <= LEFT) return; // too narrow for anything, or hidden
    const { run, view } = this;
    const number = this.part("round");
    this.painter.draw(this.selected);
    if (document.activeElement !== number) number.value = run.round[view.round];
    this.part("tall").checked = view.isTall;
    this.canvas.classList.toggle("is-tall", view.isTall);
  }

  measure() {
    const { width, height } = this.canvas.getBoundingClientRect();
    this.change(() => {
      Object.assign(this.view, { width, height });
      this.view.panLanes(0); // what was the last lane may have come off the ground
    });
  }

  // ---- controls and keys ----

  listenToControls() {
    const on = (name, kind, act) => {
      this.part(name).addEventListener(kind, (event) => this.change(() => act(event)));
    };
    const showTyped = () => this.showNumber(Number(this.part("round").value));
    on("previous", "click", () => this.stepRound(-1));
    on("next", "click", () => this.stepRound(1));
    on("all", "click", () => this.view.show(this.run.begin, this.run.over));
    on("in", "click", () => this.view.zoom(1 / ZOOM_STEP));
    on("out", "click", () => this.view.zoom(ZOOM_STEP));
    on("tall", "change", () => this.view.setTall(this.part("tall").checked));
    on("round", "change", showTyped);
    // The number of the round in the middle is there already: to ask for it is no change.
    on("round", "keydown", (event) => event.key === "Enter" && showTyped());
  }

  stepRound(by) {
    this.view.showRound(Math.min(Math.max(this.view.round + by, 0), this.run.numRounds - 1));
    this.part("round").value = this.run.round[this.view.round];
  }

  /** Shows a round by its number; if it is not among those shown, the next one that is. */
  showNumber(number) {
    const r = this.run.round.findIndex((known) => known >= number);
    this.view.showRound(r < 0 ? this.run.numRounds - 1 : r);
    this.part("round").value = this.run.round[this.view.round];
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { view, run } = this;
    const aBit = (view.to - view.from) / 10;
    const acts = {
      ArrowLeft: () => (event.shiftKey ? this.selectBeside(-1) : view.pan(-aBit)),
      ArrowRight: () => (event.shiftKey ? this.selectBeside(1) : view.pan(aBit)),
      ArrowUp: () => this.selectLane(-1),
      ArrowDown: () => this.selectLane(1),
      PageUp: () => this.stepRound(-1),
      PageDown: () => this.stepRound(1),
      Home: () => view.showRound(0),
      End: () => view.showRound(run.numRounds - 1),
      "+": () => view.zoom(1 / ZOOM_STEP),
      "=": () => view.zoom(1 / ZOOM_STEP), // the same key, without Shift
      "-": () => view.zoom(ZOOM_STEP),
      a: () => view.show(run.begin, run.over),
      t: () => view.setTall(!view.isTall),
      Escape: () => this.select(null),
    };
    const act = acts[event.key.length > 1 ? event.key : event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    this.change(act);
    if (this.selected) this.placeTooltipAt(this.selected);
  }

  /** Who comes by keyboard has no pointer: begin with the first phase in sight. */
  onFocus() {
    const isByKey = this.canvas.matches(":focus-visible");
    if (!this.selected && isByKey) this.change(() => this.selectLane(0));
  }

  selectBeside(by) {
    if (!this.selected) return this.selectLane(0);
    const phase = this.run.beside(this.selected, by);
    return phase && this.selectAndReveal(phase);
  }

  selectLane(by) {
    const { run, view, selected } = this;
    if (!selected) return this.selectAndReveal(run.firstOf(view.round, view.lanes().first));
    const k = Math.min(Math.max(selected.k + by, 0), run.numDevices - 1);
    const phase = run.phaseAtTime(k, selected.start + selected.seconds / 2);
    return this.selectAndReveal(phase ?? run.firstOf(selected.r, k));
  }

  selectAndReveal(phase) {
    if (!phase) return;
    this.view.reveal(phase);
    this.select(phase);
    this.placeTooltipAt(phase);
  }

  // ---- pointers ----

  listenToPointers() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.onDown(event));
    canvas.addEventListener("pointermove", (event) => this.onMove(event));
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, (event) => this.onUp(event));
    }
    canvas.addEventListener("pointerleave", (event) => {
      // A finger leaves when it is lifted, and only then can its owner see.
      if (event.pointerType === "mouse") this.change(() => this.select(null));
    });
    canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    // Who scrolls down the page and comes across the timeline wants to go on, not to zoom.
    addEventListener("scroll", () => (this.isWheelOurs = false), { passive: true });
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  onDown(event) {
    this.pointers.set(event.pointerId, this.place(event));
    this.canvas.setPointerCapture(event.pointerId);
    this.point(this.place(event));
  }

  onMove(event) {
    const now = this.place(event);
    this.isWheelOurs ||= event.movementX !== 0 || event.movementY !== 0;
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.point(now);
    const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId);
    this.pointers.set(event.pointerId, now);
    this.canvas.classList.add("is-dragged");
    return this.change(() => (other ? this.pinch(before, now, other[1]) : this.drag(before, now)));
  }

  onUp(event) {
    this.pointers.delete(event.pointerId);
    this.canvas.classList.remove("is-dragged");
  }

  drag(before, now) {
    this.select(null);
    this.view.pan((before.x - now.x) / this.view.pixelsPerSecond);
    this.view.panLanes(before.y - now.y);
  }

  pinch(before, now, other) {
    const apart = (point) => Math.max(Math.hypot(point.x - other.x, point.y - other.y), 1);
    this.select(null);
    this.view.zoom(apart(before) / apart(now), (now.x + other.x) / 2);
  }

  onWheel(event) {
    if (!this.isWheelOurs && !event.ctrlKey) return;
    event.preventDefault();
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const [across, along] = [event.deltaX * pixels, event.deltaY * pixels];
    this.change(() => {
      if (event.shiftKey || Math.abs(across) > Math.abs(along)) {
        this.view.pan((across || along) / this.view.pixelsPerSecond);
      } else {
        this.view.zoom(Math.exp(along * 0.002), Math.max(this.place(event).x, LEFT));
      }
    });
    this.point(this.place(event));
  }

  // ---- what is said of a phase ----

  point({ x, y }) {
    this.change(() => this.select(this.view.hit(x, y)));
    this.placeTooltip(x, y);
  }

  select(phase) {
    const before = this.selected;
    this.selected = phase;
    this.part("tooltip").hidden = !phase;
    if (!phase || (before && ["r", "k", "p"].every((key) => phase[key] === before[key]))) return;
    const rows = facts(this.run, phase);
    this.part("readout").textContent = rows.map(([what, value]) => `${what} ${value}`).join(", ");
    const cells = rows.flat().map((words) => {
      const cell = document.createElement("span");
      cell.textContent = words;
      return cell;
    });
    this.part("tooltip").replaceChildren(...cells);
  }

  placeTooltipAt({ k, start, seconds }) {
    const { view } = this;
    this.placeTooltip(view.xOf(start + seconds / 2), view.yOf(k) + view.laneHeight / 2);
  }

  /** Puts the tooltip below or above a point and its lane, wherever there is room. */
  placeTooltip(x, y) {
    const tooltip = this.part("tooltip");
    const { offsetWidth: width, offsetHeight: height } = tooltip;
    const away = Math.min(this.view.laneHeight, 30) / 2 + 12;
    const below = y + away + height <= this.view.height ? y + away : y - away - height;
    const left = Math.min(Math.max(x - width / 2, 0), this.view.width - width);
    tooltip.style.transform = `translate(${left}px, ${Math.max(below, 0)}px)`;
  }
}

const section = document.querySelector("section.timeline");
if (section) {
  const timeline = new Timeline(section);
  const { view } = timeline;
  window.stragglerTimeline = {
    view: () => ({ from: view.from, to: view.to, top: view.top, laneHeight: view.laneHeight }),
    plot: () => ({ left: LEFT, top: TOP, right: view.width, bottom: view.lowest }),
    hit: (x, y) => view.hit(x, y),
    drawnCount: () => timeline.painter.drawnCount,
  };
}
