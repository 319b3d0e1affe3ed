// What happened in a run, and which part of it is visible where.
// Times are simulated seconds; x and y are CSS pixels of the canvas.

const LEFT = 44; // the numbers of the devices
const TOP = 20; // the numbers of the rounds
const BOTTOM = 38; // the time
const TALLEST_LANE = 56;
const READABLE_LANE = 36;
const SHORTEST_SPAN_S = 1e-6;

/** What happened: r counts rounds, k devices, p phases, each among those shown. */
class Run {
  constructor(packed) {
    const as = (kind, name) => new kind(bytes(packed[name]).buffer);
    this.phases = packed.phases;
    this.devices = packed.devices;
    for (const name of ["start", "end", "deadline", "seconds"]) this[name] = as(Float64Array, name);
    for (const name of ["ratio", "share", "snr"]) this[name] = as(Float32Array, name);
    for (const name of ["round", "straggler"]) this[name] = as(Int32Array, name);
    this.outcome = as(Uint8Array, "outcome");
    this.curve = packed.curve && { ...packed.curve, levels: bytes(packed.curve.levels) };
    this.numRounds = this.round.length;
    this.numDevices = this.devices.length;
    this.numPhases = this.phases.length;
    this.upload = this.phases.findIndex((phase) => phase.name === "upload");
    this.wait = this.phases.findIndex((phase) => phase.name === "wait");
    this.begin = this.start[0];
    this.over = Math.max(this.end[this.numRounds - 1], this.begin + SHORTEST_SPAN_S);
  }

  /** Returns the first round of which `times`, which ascend, are beyond `at`. */
  firstBeyond(times, at) {
    let low = 0;
    let high = this.numRounds;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] > at) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Returns the round that has begun last by a time. */
  roundAt(at) {
    return Math.max(this.firstBeyond(this.start, at) - 1, 0);
  }

  /** Returns a phase: when it begins, and how long it takes. */
  phaseAt(r, k, p) {
    const chain = (r * this.numDevices + k) * this.numPhases;
    let start = this.start[r];
    for (let before = 0; before < p; before++) start += this.seconds[chain + before];
    return { r, k, p, start, seconds: this.seconds[chain + p] };
  }

  /** Returns what a device did at a time, or null. */
  phaseAtTime(k, at) {
    const r = this.roundAt(at);
    for (let p = 0; p < this.numPhases; p++) {
      const phase = this.phaseAt(r, k, p);
      if (at >= phase.start && at < phase.start + phase.seconds) return phase;
    }
    return null;
  }

  /** Returns the phase of the same device before (by = -1) or after one; null at the end. */
  beside({ r, k, p }, by) {
    let at = r * this.numPhases + p + by;
    for (; at >= 0 && at < this.numRounds * this.numPhases; at += by) {
      const phase = this.phaseAt(Math.floor(at / this.numPhases), k, at % this.numPhases);
      if (phase.seconds > 0) return phase;
    }
    return null;
  }

  /** Returns whether a phase is the one after which the others had to wait no longer. */
  isLast(r, k, p) {
    if (this.straggler[r] !== this.devices[k] || p === this.wait) return false;
    const next = this.beside({ r, k, p }, 1);
    return !next || next.r > r || next.p === this.wait;
  }

  /** Returns the first phase of a device in a round. */
  firstOf(r, k) {
    return this.beside({ r, k, p: -1 }, 1);
  }

  /** Returns the SNR in each stretch of an upload, in dB; -Infinity where nothing passed. */
  snrDuring(r, k) {
    const { low, step, stretches, levels } = this.curve;
    const first = (r * this.numDevices + k) * stretches;
    const known = levels.subarray(first, first + stretches);
    return Array.from(known, (level) => (level ? low[k] + (level - 1) * step[k] : -Infinity));
  }

  /** Returns the least and the greatest SNR of a device, in dB. */
  snrScale(k) {
    const { low, step } = this.curve;
    return { low: low[k], high: low[k] + 254 * step[k] };
  }
}

/** Which part of a run is visible, and where on the canvas. */
class View {
  constructor(run) {
    this.run = run;
    this.from = run.begin;
    this.to = run.over;
    this.top = 0;
    this.isTall = false;
    this.round = 0;
    this.width = 0;
    this.height = 0;
  }

  get pixelsPerSecond() {
    return (this.width - LEFT) / (this.to - this.from);
  }

  get lanesHeight() {
    return Math.max(this.height - TOP - BOTTOM, 1);
  }

  get lowest() {
    return TOP + this.lanesHeight;
  }

  get laneHeight() {
    const even = this.lanesHeight / this.run.numDevices;
    return this.isTall ? Math.max(READABLE_LANE, even) : Math.min(TALLEST_LANE, even);
  }

  xOf(at) {
    return LEFT + (at - this.from) * this.pixelsPerSecond;
  }

  timeOf(x) {
    return this.from + (x - LEFT) / this.pixelsPerSecond;
  }

  yOf(k) {
    return TOP + k * this.laneHeight - this.top;
  }

  /** Returns which rounds are visible. */
  rounds() {
    const { run } = this;
    const first = run.firstBeyond(run.end, this.from);
    return { first, beyond: run.firstBeyond(run.start, this.to) };
  }

  /** Returns which lanes are visible. */
  lanes() {
    const first = Math.floor(this.top / this.laneHeight);
    const beyond = Math.ceil((this.top + this.lanesHeight) / this.laneHeight);
    return { first, beyond: Math.min(beyond, this.run.numDevices) };
  }

  /** Returns what the axis counts: near a round, from its start. */
  clock() {
    const { run, round } = this;
    const isNear = this.to - this.from < 3 * (run.end[round] - run.start[round]);
    if (!isNear) return { origin: 0, unit: 1, label: "simulated time, s" };
    const label = `ms since round ${run.round[round]} began`;
    return { origin: run.start[round], unit: 1e-3, label };
  }

  /** Returns the phase at a point, or null. */
  hit(x, y) {
    const k = Math.floor((y - TOP + this.top) / this.laneHeight);
    const isInside = x >= LEFT && x < this.width && y >= TOP && y < this.lowest;
    return isInside && k < this.run.numDevices ? this.run.phaseAtTime(k, this.timeOf(x)) : null;
  }

  show(from, to) {
    const whole = this.run.over - this.run.begin;
    const span = Math.min(Math.max(to - from, SHORTEST_SPAN_S), whole);
    this.from = Math.min(Math.max(from, this.run.begin), this.run.over - span);
    this.to = this.from + span;
    this.round = this.run.roundAt((this.from + this.to) / 2);
  }

  showRound(r) {
    const { start, end } = this.run;
    const margin = (end[r] - start[r]) * 0.02;
    this.show(start[r] - margin, end[r] + margin);
    this.round = r;
  }

  pan(seconds) {
    this.show(this.from + seconds, this.to + seconds);
  }

  panLanes(pixels) {
    const most = Math.max(this.run.numDevices * this.laneHeight - this.lanesHeight, 0);
    this.top = Math.min(Math.max(this.top + pixels, 0), most);
  }

  /** Shows `factor` times as much; the time at `x` stays where it is. */
  zoom(factor, x = (LEFT + this.width) / 2) {
    const whole = this.run.over - this.run.begin;
    const span = Math.min(Math.max((this.to - this.from) * factor, SHORTEST_SPAN_S), whole);
    const from = this.timeOf(x) - ((x - LEFT) / (this.width - LEFT)) * span;
    this.show(from, from + span);
  }

  setTall(isTall) {
    const middle = (this.top + this.lanesHeight / 2) / this.laneHeight;
    this.isTall = isTall;
    this.panLanes(middle * this.laneHeight - this.lanesHeight / 2 - this.top);
  }

  /** Moves as far as it takes to see a phase. */
  reveal({ k, start, seconds }) {
    const middle = start + seconds / 2;
    if (middle < this.from || middle > this.to) this.pan(middle - (this.from + this.to) / 2);
    const above = this.yOf(k) - TOP;
    const below = above + this.laneHeight - this.lanesHeight;
    if (above < 0) this.panLanes(above);
    else if (below > 0) this.panLanes(below);
  }
}

function bytes(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
