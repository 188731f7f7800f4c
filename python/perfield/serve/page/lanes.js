// SPDX-License-Identifier: BSD-3-Clause
// Bars over time, a row for each rank: drawn, zoomed and moved. The wheel zooms the time where the pointer is, a
// drag shows a part of times and rows, with shift it moves; keys + - 0 and shift with arrows do the same.

import { few } from './grid.js';
import { CHOSEN, drawBox } from './marks.js';
import { DRAG_PIXELS, nothing, placeIn } from './pointer.js';
import { ink } from './theme.js';
import { amount, unitFor } from './units.js';

const LEFT = 70; // pixels for the names of rows
const RIGHT = 16;
const EDGE = 12; // left of the words above
const BOTTOM = 38;
const LINE = 20; // of the words about colours
const BAR = 0.64; // of a row, where rows are high enough
const HIGH = 7; // pixels of a row with room between bars
const LEAST = 0.6; // of a row
const DIM = 0.6; // how far rows fade that are not looked at
const ZOOM = 1.25;
const CLOSEST = 1e-6; // of all times

/** Events: onPick(row), onHover(row or null, seconds, event), onZoom(). linesOf() : lines over the bars,
 * {from: [row, s], to: [row, s], colour, isArrow}. sentencesOf() : words above. */
export class Lanes {
  seconds = 0; // the end of time
  measuring = null; // a context that measures words

  constructor(stage) {
    this.stage = stage;
    this.canvas = stage.appendChild(document.createElement('canvas'));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.onPick = this.onHover = this.onZoom = nothing;
    /** @type {() => any[]} */
    this.linesOf = () => [];
    /** @type {() => string[]} */
    this.sentencesOf = () => [];
    this.bars = []; // {colour, ink, words, row, begin, end, text(n) or null}, the uppermost last
    this.names = [];
    this.bright = null; // a Set of rows, while others fade; null: none fades
    this.marked = null; // a row
    this.#listen();
    new ResizeObserver(() => this.draw()).observe(stage);
  }

  /** Shows rows of bars. seconds : the end of time; what is zoomed stays so if `isSame`.
   * @param {Record<string, any>} shown @param {boolean} isSame */
  show({ names, seconds, bars, bright, marked }, isSame) {
    Object.assign(this, { names, seconds, bars, bright, marked });
    if (!isSame) this.whole();
    else this.draw();
  }

  /** Shows nothing. */
  clear() {
    [this.names, this.bars] = [[], []];
  }

  /** Shows all times and rows. */
  whole() {
    this.#look([0, this.seconds], [0, this.names.length]);
  }

  get isWhole() {
    return this.times[1] - this.times[0] >= this.seconds && this.rows[1] - this.rows[0] >= this.names.length;
  }

  /** Zooms times by a factor around one of them. */
  zoomAt(second, factor) {
    const [from, to] = this.times;
    const wide = Math.min(Math.max((to - from) / factor, CLOSEST * this.seconds), this.seconds);
    const begin = second - ((second - from) / (to - from)) * wide;
    this.#look([begin, begin + wide], this.rows);
  }

  /** Moves what is shown by shares of its width and its height. from : the times and rows to begin at. */
  move(across, down = 0, [times, rows] = [this.times, this.rows]) {
    /** @type {(range: number[], share: number) => number[]} */
    const by = ([low, high], share) => [low, high].map((end) => end + share * (high - low));
    this.#look(by(times, across), by(rows, down));
  }

  /** Shows these times and rows, as far as there are any. */
  #look(times, rows) {
    const inside = ([low, high], most) => {
      const size = Math.min(high - low, most);
      const begin = Math.min(Math.max(low, 0), most - size);
      return [begin, begin + size];
    };
    this.times = inside(times, this.seconds);
    this.rows = inside(rows, this.names.length).map(Math.round);
    this.onZoom();
    this.draw();
  }

  /** Takes the room: left, top, width and height of the rows in pixels, below the words. */
  #layOut() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    this.legend = this.#legend(width);
    const top = 6 + LINE * this.legend.length;
    this.box = [LEFT, top, Math.max(width - LEFT - RIGHT, 1), Math.max(height - top - BOTTOM, 1)];
  }

  /** The pixel of a time, and of the upper edge of a row. */
  at(second, row) {
    const [left, top, width, height] = this.box;
    const [[from, to], [first, last]] = [this.times, this.rows];
    return [left + ((second - from) / (to - from)) * width, top + ((row - first) / (last - first)) * height];
  }

  /** [seconds, row] at a pixel, both with fractions. */
  #place(x, y) {
    const [left, top, width, height] = this.box;
    const [[from, to], [first, last]] = [this.times, this.rows];
    return [from + ((x - left) / width) * (to - from), first + ((y - top) / height) * (last - first)];
  }

  draw() {
    const { clientWidth, clientHeight } = this.stage;
    if (!clientWidth || !clientHeight || !this.names.length) return;
    const ratio = window.devicePixelRatio || 1;
    [this.canvas.width, this.canvas.height] = [clientWidth, clientHeight].map((side) => Math.round(side * ratio));
    const context = this.canvas.getContext('2d');
    context.scale(ratio, ratio);
    this.paint(context);
  }

  /** Draws the words about colours, bars, lines, axes and marks. */
  paint(context) {
    this.#layOut();
    const { box } = this;
    for (const bars of this.bars) this.#bars(context, bars, box);
    this.#fade(context, box);
    for (const line of this.linesOf()) this.#line(context, line, box);
    context.strokeStyle = ink('--line');
    context.strokeRect(box[0] - 0.5, box[1] - 0.5, box[2] + 1, box[3] + 1);
    this.#axes(context, box);
    this.#mark(context, box);
    this.#words(context);
  }

  #bars(context, { colour, ink: letters, row, begin, end, text }, box) {
    const [left, top, width, height] = box;
    const [first, last] = this.rows;
    const [from, to] = this.times;
    const [scale, tall] = [width / (to - from), height / (last - first)];
    const high = Math.max(tall > HIGH ? BAR * tall : tall, LEAST);
    const written = [];
    const parts = new Map(); // of pixels that short bars colour in part, by row
    context.fillStyle = colour;
    for (let n = 0; n < row.length; n += 1) {
      if (row[n] < first || row[n] >= last || !(end[n] >= from && begin[n] <= to)) continue;
      const x = Math.max((begin[n] - from) * scale, 0);
      const room = Math.min((end[n] - from) * scale, width) - x;
      if (room < 1) {
        if (!parts.has(row[n])) parts.set(row[n], new Float32Array(Math.ceil(width) + 1));
        const share = Math.min(room, Math.floor(x) + 1 - x); // of this pixel; the rest is the next one's
        parts.get(row[n])[Math.floor(x)] += share;
        parts.get(row[n])[Math.floor(x) + 1] += room - share;
        continue;
      }
      const y = top + (row[n] - first + 0.5) * tall;
      context.fillRect(left + x, y - high / 2, room > 4 ? room - 0.8 : room, high); // a gap before the next one
      if (text && high >= 13 && room > 24) written.push([n, left + x + room / 2, y, room - 8]);
    }
    for (const [of, shares] of parts) {
      const y = top + (of - first + 0.5) * tall - high / 2;
      shares.forEach((share, x) => {
        if (share < 0.01) return;
        context.globalAlpha = Math.min(share, 1);
        context.fillRect(left + x, y, Math.min(1, width - x), high);
      });
    }
    context.globalAlpha = 1;
    context.fillStyle = letters;
    context.font = '12px system-ui, sans-serif';
    context.textAlign = 'center';
    for (const [n, x, y, room] of written) {
      const fits = text(n).find((words) => context.measureText(words).width <= room);
      if (fits) context.fillText(fits, x, y + 4);
    }
  }

  #fade(context, box) {
    const [left, , width] = box;
    if (!this.bright) return;
    context.save();
    context.globalAlpha = DIM;
    context.fillStyle = ink('--card');
    for (let row = this.rows[0]; row < this.rows[1]; row += 1) {
      if (this.bright.has(row)) continue;
      const [y, next] = [row, row + 1].map((each) => this.at(0, each)[1]);
      context.fillRect(left, y, width, next - y);
    }
    context.restore();
  }

  /** A line between two times of two rows, as far as it is in sight. */
  #line(context, { from, to, colour, isArrow }, box) {
    const [left, top, width, height] = box;
    const [a, b] = [from, to].map(([row, second]) => this.at(second, row + 0.5));
    const seen = clipped(a, b, [left, top, left + width, top + height]);
    if (!seen) return;
    const [[x, y], [toX, toY]] = seen;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.4;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
    if (!isArrow) return;
    if (x === a[0] && y === a[1]) context.fillRect(x - 2, y - 2, 4, 4);
    const length = Math.hypot(toX - x, toY - y);
    if (toX !== b[0] || toY !== b[1] || length < 6) return;
    const [dx, dy] = [(toX - x) / length, (toY - y) / length];
    context.beginPath();
    context.moveTo(toX, toY);
    context.lineTo(toX - 8 * dx - 3.5 * dy, toY - 8 * dy + 3.5 * dx);
    context.lineTo(toX - 8 * dx + 3.5 * dy, toY - 8 * dy - 3.5 * dx);
    context.fill();
  }

  #axes(context, box) {
    const [left, top, width, height] = box;
    context.fillStyle = ink('--quiet');
    context.font = '13px system-ui, sans-serif';
    context.textAlign = 'center';
    const [from, to] = this.times;
    const [factor, unit] = unitFor('s', to);
    const step = roundStep(((to - from) * factor) / Math.max(Math.floor(width / 90), 1));
    for (let n = Math.ceil((from * factor) / step - 1e-9); n * step <= to * factor * (1 + 1e-12); n += 1) {
      const [x] = this.at((n * step) / factor, 0);
      context.fillRect(x, top + height, 1, 4);
      context.fillText(tick(n, step), x, top + height + 17);
    }
    context.textAlign = 'right';
    const [first, last] = this.rows;
    const tall = height / (last - first);
    for (const n of few(last - first, Math.floor(height / 26))) {
      const y = this.at(0, first + n + 0.5)[1];
      context.fillRect(left - 4, y, 4, 1);
      const apart = this.marked === null ? Infinity : Math.abs(first + n - this.marked) * tall;
      if (apart > 18) context.fillText(this.names[first + n], left - 8, y + 4.5);
    }
    context.fillText(`${unit} since the step began`, left + width, top + height + 32);
    context.save();
    context.translate(14, top + height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = 'center';
    context.fillText('rank', 0, 0);
    context.restore();
  }

  #mark(context, box) {
    const [left, , width] = box;
    const row = this.marked;
    if (row === null || row < this.rows[0] || row >= this.rows[1]) return;
    const [y, next] = [row, row + 1].map((each) => this.at(0, each)[1]);
    drawBox(context, left, y, width, Math.max(next - y, 3));
    context.font = '600 13px system-ui, sans-serif';
    context.textAlign = 'right';
    context.fillStyle = CHOSEN;
    const middle = (y + next) / 2;
    context.beginPath();
    context.moveTo(left - 3, middle);
    context.lineTo(left - 9, middle - 4);
    context.lineTo(left - 9, middle + 4);
    context.fill();
    context.fillStyle = ink('--marked');
    context.fillText(this.names[row], left - 12, middle + 4.5);
  }

  /** Sentences and the words about colours, line by line: [[words, colour or null, x], ..]. */
  #legend(width) {
    const context = (this.measuring ??= document.createElement('canvas').getContext('2d'));
    context.font = '13px system-ui, sans-serif';
    const lines = [[]];
    let x = EDGE;
    for (const { words, colour } of this.bars) {
      const wide = 18 + context.measureText(words).width;
      if (x > EDGE && x + wide > width - RIGHT) {
        lines.push([]);
        x = EDGE;
      }
      lines.at(-1).push([words, colour, x]);
      x += wide + 16;
    }
    return [...this.sentencesOf().map((sentence) => [[sentence, null, EDGE]]), ...lines];
  }

  #words(context) {
    context.font = '13px system-ui, sans-serif';
    context.textAlign = 'left';
    this.legend.forEach((line, n) => {
      for (const [words, colour, x] of line) {
        if (colour) {
          context.fillStyle = colour;
          context.fillRect(x, 3 + n * LINE, 12, 12);
        }
        context.fillStyle = ink(colour ? '--quiet' : '--ink');
        context.fillText(words, x + (colour ? 18 : 0), 14 + n * LINE, this.stage.clientWidth - x - 4);
      }
    });
  }

  #listen() {
    const { canvas } = this;
    let began = null;
    let moving = null; // where a drag that moves began
    let wasDragged = false;
    const is = () => this.names.length > 0;
    canvas.addEventListener(
      'wheel',
      (event) => {
        if (!is() || (this.isWhole && event.deltaY > 0 && !event.shiftKey)) return; // the page scrolls
        event.preventDefault();
        const along = event.deltaX || (event.shiftKey ? event.deltaY : 0);
        if (along) this.move(along / this.box[2]);
        else this.zoomAt(this.#place(event.offsetX, 0)[0], ZOOM ** Math.max(-3, Math.min(3, -event.deltaY / 100)));
      },
      { passive: false },
    );
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || !is()) return;
      [began, wasDragged] = [placeIn(canvas, event), false];
      moving = event.shiftKey ? [this.times, this.rows] : null;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!is()) return;
      const [x, y] = placeIn(canvas, event);
      const moved = began && [x - began[0], y - began[1]];
      wasDragged ||= Boolean(began) && Math.hypot(...moved) > DRAG_PIXELS;
      if (!wasDragged || !began) this.#hover(x, y, event);
      else if (moving) this.move(-moved[0] / this.box[2], -moved[1] / this.box[3], moving);
      else {
        this.draw();
        drawBox(canvas.getContext('2d'), ...began, ...moved);
      }
    });
    canvas.addEventListener('pointerup', (event) => {
      const place = placeIn(canvas, event);
      if (began && !wasDragged) this.#pick(...place);
      else if (began && !moving) this.#brushed(began, place);
      began = null;
    });
    canvas.addEventListener('pointercancel', () => (began = null));
    canvas.addEventListener('pointerleave', (event) => is() && this.onHover(null, null, event));
    canvas.addEventListener('dblclick', () => is() && this.whole());
    canvas.addEventListener('keydown', (event) => {
      const across = { ArrowLeft: -0.25, ArrowRight: 0.25 }[event.key];
      const factor = { '+': ZOOM, '=': ZOOM, '-': 1 / ZOOM }[event.key];
      if (!is()) return;
      if (event.key === '0') this.whole();
      else if (factor) this.zoomAt((this.times[0] + this.times[1]) / 2, factor);
      else if (across && event.shiftKey) this.move(across);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  #rowAt(x, y) {
    const [left, top, width, height] = this.box;
    const isInside = x >= left && y >= top && x <= left + width && y < top + height;
    return isInside ? Math.floor(this.#place(x, y)[1]) : null;
  }

  #hover(x, y, event) {
    const row = this.#rowAt(x, y);
    this.onHover(row, row === null ? null : this.#place(x, y)[0], event);
  }

  #pick(x, y) {
    const row = this.#rowAt(x, y);
    if (row !== null) this.onPick(row);
  }

  #brushed(a, b) {
    const [[one, top], [other, bottom]] = [this.#place(...a), this.#place(...b)];
    const [from, to] = [one, other].sort((x, y) => x - y).map((at) => Math.min(Math.max(at, 0), this.seconds));
    const [first, last] = [top, bottom].sort((x, y) => x - y).map(Math.floor);
    const isWide = to - from > CLOSEST * this.seconds;
    this.#look(isWide ? [from, to] : this.times, [Math.max(first, this.rows[0]), Math.min(last + 1, this.rows[1])]);
  }
}

/** The part of a line from a to b inside [left, top, right, bottom]; null for none (Liang and Barsky, 1984). */
function clipped(a, b, [left, top, right, bottom]) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  let [begin, end] = [0, 1];
  for (const [by, room] of [
    [-dx, a[0] - left],
    [dx, right - a[0]],
    [-dy, a[1] - top],
    [dy, bottom - a[1]],
  ]) {
    if (by === 0 && room < 0) return null;
    if (by < 0) begin = Math.max(begin, room / by);
    if (by > 0) end = Math.min(end, room / by);
  }
  const at = (share) => (share === 0 ? a : share === 1 ? b : [a[0] + share * dx, a[1] + share * dy]);
  return begin <= end ? [at(begin), at(end)] : null;
}

/** The least of 1, 2, 5, 10, .. that is no smaller. */
function roundStep(least) {
  const ten = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((one) => one * ten >= least * (1 - 1e-9)) * ten;
}

/** n steps as a number with the digits that the step has; "1,250.4". */
function tick(n, step) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return n === 0 ? '0' : digits > 12 ? amount(n * step) : (n * step).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
