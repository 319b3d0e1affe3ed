// How the timeline of a run looks: draws what a view shows of it on a canvas, each time anew.

const FONT = "11px system-ui, sans-serif";
const LANE_WITH_CURVE = 22;
const HATCH = 6;
const MOST_RECTANGLES = 6000;

class Painter {
  constructor(section, canvas, run, view) {
    this.section = section;
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.run = run;
    this.view = view;
    this.film = document.createElement("canvas");
    this.drawnCount = 0;
    this.readColours();
  }

  /** Takes the colours from the style sheet, which has others for the dark. */
  readColours() {
    const style = getComputedStyle(this.section);
    const colour = (name) => style.getPropertyValue(`--timeline-${name}`).trim();
    const names = ["paper", "ink", "muted", "line", "blank", "hatch", "focus", "upload"];
    this.colours = Object.fromEntries(names.map((name) => [name, colour(name)]));
    this.fills = this.run.phases.map((phase) => colour(phase.name));
    this.letters = this.fills.map((fill) => (isDark(fill) ? "#ffffff" : "#000000"));
    this.hatch = null;
  }

  draw(selected) {
    const { pen, view } = this;
    this.fitCanvas();
    pen.font = FONT;
    pen.textBaseline = "middle";
    pen.fillStyle = this.colours.paper;
    pen.fillRect(0, 0, view.width, view.height);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, TOP, view.width - LEFT, view.lanesHeight);
    pen.clip();
    this.drawUnseen();
    this.drawLanes();
    if (selected) this.drawSelected(selected);
    pen.restore();
    this.drawRounds();
    this.drawDevices();
    this.drawTime();
  }

  fitCanvas() {
    const { canvas, view } = this;
    this.scale = window.devicePixelRatio || 1;
    const width = Math.round(view.width * this.scale);
    const height = Math.round(view.height * this.scale);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
      this.hatch = null;
    }
    this.pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
  }

  // ---- lanes ----

  /** Marks the time of rounds that are not shown. */
  drawUnseen() {
    const { run, view } = this;
    const { first, beyond } = view.rounds();
    this.pen.fillStyle = this.colours.blank;
    for (let r = Math.max(first, 1); r < Math.min(beyond + 1, run.numRounds); r++) {
      if (run.round[r] === run.round[r - 1] + 1) continue;
      const x = view.xOf(run.end[r - 1]);
      this.pen.fillRect(x, TOP, view.xOf(run.start[r]) - x, view.lanesHeight);
    }
  }

  drawLanes() {
    const { run, view } = this;
    const rounds = view.rounds();
    const lanes = view.lanes();
    const bars = (rounds.beyond - rounds.first) * (lanes.beyond - lanes.first) * run.numPhases;
    this.drawnCount = 0;
    if (bars > MOST_RECTANGLES) this.drawPixels(rounds, lanes);
    else this.drawRectangles(rounds, lanes);
  }

  /** Tells the bars of a device in a round, in whole pixels of the screen; thinner ones not. */
  eachBar(r, k, visit) {
    const { run, view } = this;
    const perSecond = view.pixelsPerSecond * this.scale;
    const chain = (r * run.numDevices + k) * run.numPhases;
    let start = run.start[r];
    let left = Math.round((start - view.from) * perSecond);
    for (let p = 0; p < run.numPhases && start < view.to; p++) {
      start += run.seconds[chain + p];
      const right = Math.round((start - view.from) * perSecond);
      if (right > left && right > 0) {
        this.drawnCount++;
        visit(p, left, right);
      }
      left = right;
    }
  }

  drawRectangles(rounds, lanes) {
    const look = this.laneLook();
    for (let k = lanes.first; k < lanes.beyond; k++) {
      const lane = { ...look, y: this.snapped(this.view.yOf(k) + look.gap / 2) };
      for (let r = rounds.first; r < rounds.beyond; r++) {
        this.eachBar(r, k, (p, left, right) => {
          this.drawBar({ r, k, p }, LEFT + left / this.scale, LEFT + right / this.scale, lane);
        });
      }
    }
  }

  /** Draws very many bars. A rectangle each would take a hundred times as long. */
  drawPixels(rounds, lanes) {
    const { scale, view } = this;
    const image = this.blankImage();
    const pixels = new Uint32Array(image.data.buffer);
    const colours = this.fills.map(pixelOf);
    const gap = view.laneHeight * scale >= 4 ? 1 : 0;
    for (let k = lanes.first; k < lanes.beyond; k++) {
      const row = new Uint32Array(image.width);
      for (let r = rounds.first; r < rounds.beyond; r++) {
        this.eachBar(r, k, (p, left, right) => row.fill(colours[p], Math.max(left, 0), right));
      }
      const top = Math.max(Math.round((view.yOf(k) - TOP) * scale), 0);
      const below = Math.min(Math.round((view.yOf(k + 1) - TOP) * scale) - gap, image.height);
      for (let y = top; y < below; y++) pixels.set(row, y * image.width);
    }
    this.film.getContext("2d").putImageData(image, 0, 0);
    this.pen.drawImage(this.film, LEFT, TOP, image.width / scale, image.height / scale);
  }

  /** Returns an image of the lanes' size with nothing in it, and fits the film to it. */
  blankImage() {
    const { film, view } = this;
    const width = Math.round((view.width - LEFT) * this.scale);
    const height = Math.round(view.lanesHeight * this.scale);
    if (film.width !== width || film.height !== height) {
      Object.assign(film, { width, height });
      this.image = film.getContext("2d").createImageData(width, height);
    }
    this.image.data.fill(0);
    return this.image;
  }

  snapped(length) {
    return Math.round(length * this.scale) / this.scale;
  }

  /** Returns what all lanes have in common. */
  laneLook() {
    const height = this.view.laneHeight;
    const hasCurve = this.run.curve !== null && height >= LANE_WITH_CURVE;
    const gap = Math.min(2, Math.floor(height / 4));
    const bar = this.snapped(hasCurve ? height * 0.5 : height - gap);
    const fills = [...this.fills];
    if (bar >= 7 && this.run.wait >= 0) fills[this.run.wait] = this.hatching();
    return { gap, bar, fills, hasCurve };
  }

  drawBar({ r, k, p }, left, right, lane) {
    this.pen.fillStyle = lane.fills[p];
    this.pen.fillRect(left, lane.y, right - left, lane.bar);
    if (right - left < 12) return;
    if (lane.bar >= 11) this.drawLabel(p, left, right, lane);
    if (p === this.run.upload && lane.hasCurve) this.drawCurve(r, k, left, right, lane);
    // Narrower, it would hide the letter.
    if (right - left >= 26 && lane.bar >= 8 && this.run.isLast(r, k, p)) this.drawLast(right, lane);
  }

  drawLabel(p, left, right, lane) {
    const { pen } = this;
    const x = Math.max(left, LEFT);
    const room = Math.min(right, this.view.width) - x;
    const { name, letter } = this.run.phases[p];
    if (!letter || room < 12) return;
    pen.fillStyle = this.letters[p];
    pen.textAlign = "center";
    const label = pen.measureText(name).width + 6 <= room ? name : letter;
    pen.fillText(label, x + room / 2, lane.y + lane.bar / 2 + 0.5);
  }

  /** Draws the SNR under an upload, and as a dotted line the one that the server knew. */
  drawCurve(r, k, left, right, lane) {
    const { pen, run } = this;
    const top = lane.y + lane.bar + 2;
    const height = this.view.laneHeight - lane.bar - 7;
    const { low, high } = run.snrScale(k);
    const y = (db) => top + height * (1 - Math.max((db - low) / (high - low), 0));
    const snr = run.snrDuring(r, k);
    const width = (right - left) / snr.length;
    pen.beginPath();
    snr.forEach((db, index) => {
      pen.lineTo(left + index * width, y(db));
      pen.lineTo(left + (index + 1) * width, y(db));
    });
    pen.strokeStyle = pen.fillStyle = this.colours.upload;
    pen.lineWidth = 1.25;
    pen.stroke();
    pen.lineTo(right, top + height);
    pen.lineTo(left, top + height);
    pen.globalAlpha = 0.25;
    pen.fill();
    pen.globalAlpha = 1;
    this.line([1, 2], this.colours.ink, left, y(run.snr[r * run.numDevices + k]), right);
  }

  /** Points at the moment for which the others have waited. */
  drawLast(right, lane) {
    const { pen } = this;
    const y = lane.y + lane.bar / 2;
    pen.beginPath();
    pen.moveTo(right - 1, y);
    pen.lineTo(right - 7, y - 4);
    pen.lineTo(right - 7, y + 4);
    pen.fillStyle = "#000000";
    pen.fill();
  }

  drawSelected({ k, start, seconds }) {
    const { pen, view } = this;
    const x = view.xOf(start);
    const width = Math.max(view.xOf(start + seconds) - x, 2);
    pen.strokeStyle = this.colours.focus;
    pen.lineWidth = 2;
    pen.strokeRect(x, view.yOf(k) + 1, width, view.laneHeight - 2);
  }

  /** Returns the diagonals of waiting, which move along with what they fill. */
  hatching() {
    if (!this.hatch) this.hatch = this.pen.createPattern(this.hatchTile(), "repeat");
    const { view } = this;
    const x = (-view.from * view.pixelsPerSecond) % HATCH;
    const place = new DOMMatrix().translate(x, -view.top % HATCH).scale(1 / this.scale);
    this.hatch.setTransform(place);
    return this.hatch;
  }

  hatchTile() {
    const tile = document.createElement("canvas");
    const size = (tile.width = tile.height = Math.round(HATCH * this.scale));
    const brush = tile.getContext("2d");
    brush.fillStyle = this.fills[this.run.wait];
    brush.fillRect(0, 0, size, size);
    brush.strokeStyle = this.colours.hatch;
    brush.lineWidth = this.scale;
    // The line beside it on either side fills the corners, where tiles meet.
    for (const shift of [-size, 0, size]) {
      brush.moveTo(shift - 1, size + 1);
      brush.lineTo(shift + size + 1, -1);
    }
    brush.stroke();
    return tile;
  }

  // ---- what stands around them ----

  line(dashes, colour, x, y, x2, y2 = y) {
    const { pen } = this;
    pen.beginPath();
    pen.setLineDash(dashes);
    pen.moveTo(x, y);
    pen.lineTo(x2, y2);
    pen.lineWidth = 1;
    pen.strokeStyle = colour;
    pen.stroke();
    pen.setLineDash([]);
  }

  text(words, x, y, align, colour = this.colours.ink) {
    this.pen.fillStyle = colour;
    this.pen.textAlign = align;
    this.pen.fillText(words, x, y);
  }

  /** Draws where rounds begin, with their numbers, and their deadlines. */
  drawRounds() {
    const { run, view } = this;
    const { first, beyond } = view.rounds();
    let free = LEFT; // up to here the line of numbers is taken
    for (let r = first; r < beyond; r++) {
      const x = Math.max(view.xOf(run.start[r]), LEFT);
      const width = (run.end[r] - run.start[r]) * view.pixelsPerSecond;
      const edge = Math.round(x) + 0.5;
      if (width >= 10) this.line([], this.colours.muted, edge, TOP - 4, edge, view.lowest);
      if (x >= free) {
        const label = `${free === LEFT || width >= 60 ? "round " : ""}${run.round[r]}`;
        free = this.drawNumber(r, label, x, width) ?? free;
      }
      if (width >= 10) this.drawDeadline(r, free);
    }
  }

  /** Writes the number of a round at x, if there is room; returns how far that reaches. */
  drawNumber(r, label, x, width) {
    const { run, view } = this;
    const reach = x + this.pen.measureText(label).width + 8;
    // Where all rounds are narrow, a number stands for several; of a wide one it must not be
    // taken for that of the next.
    const end = width < 30 ? view.width : Math.min(view.xOf(run.end[r]), view.width);
    if (reach > end) return null;
    this.text(label, x + 3, TOP / 2, "left");
    return reach;
  }

  /** Draws the deadline of a round that outlasts it; later, it would stand in the next round. */
  drawDeadline(r, free) {
    const { run, view } = this;
    const x = Math.round(view.xOf(run.start[r] + run.deadline[r])) + 0.5;
    const isReached = run.deadline[r] <= (run.end[r] - run.start[r]) * (1 + 1e-9);
    if (!isReached || x < LEFT || x > view.width) return;
    this.line([5, 3], this.colours.ink, x, TOP - 6, x, view.lowest);
    if (x - 56 > free) this.text("deadline", x - 3, TOP / 2, "right");
  }

  drawDevices() {
    const { run, view } = this;
    const { first, beyond } = view.lanes();
    const each = Math.ceil(13 / view.laneHeight); // numbers must not touch
    this.text("device", LEFT - 5, TOP / 2, "right", this.colours.muted);
    for (let k = Math.ceil(first / each) * each; k < beyond; k += each) {
      const y = view.yOf(k) + view.laneHeight / 2;
      if (y > TOP + 4 && y < view.lowest - 2) this.text(run.devices[k], LEFT - 6, y, "right");
    }
  }

  /** Draws the axis: of a round or two, in milliseconds since one of them began. */
  drawTime() {
    const { view, colours } = this;
    const { origin, unit, label } = view.clock();
    const step = tickStep(90 / view.pixelsPerSecond / unit);
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const last = Math.floor((view.to - origin) / unit / step);
    for (let n = Math.ceil((view.from - origin) / unit / step); n <= last; n++) {
      const x = Math.round(view.xOf(origin + n * step * unit)) + 0.5;
      const words = (n * step).toFixed(decimals);
      const half = this.pen.measureText(words).width / 2;
      this.line([], colours.muted, x, view.lowest, x, view.lowest + 4);
      this.text(words, Math.min(x, view.width - half), view.lowest + 12, "center");
    }
    this.line([], colours.muted, LEFT, view.lowest + 0.5, view.width);
    this.text(label, (LEFT + view.width) / 2, view.lowest + 28, "center", colours.muted);
  }
}

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function isDark(hex) {
  const [red, green, blue] = channels(hex);
  return 0.3 * red + 0.59 * green + 0.11 * blue < 112;
}

/** Returns a colour as a pixel of an image, read as one number. */
function pixelOf(hex) {
  return new Uint32Array(Uint8Array.of(...channels(hex), 255).buffer)[0];
}

function tickStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= least);
}
