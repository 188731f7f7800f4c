// SPDX-License-Identifier: BSD-3-Clause
// A table of numbers as coloured cells with two axes: the base of the heat map and of the matrix.

import { CHOSEN, drawBox } from './marks.js';
import { nothing } from './pointer.js';
import { ink } from './theme.js';

const LEFT = 70; // pixels for the numbers of the rows
const BOTTOM = 38;
const DRAG_PIXELS = 5; // a pointer that moves less was meant as a click
const TOP = 14;
const ABOVE = 10; // more at the top, for a second axis
const RIGHT = 16;
const DIM = 0.45; // how far rows and columns fade that are not marked
const THIN = 3; // pixels of a marked row or column, at least
const POINTER = 6; // pixels of the triangle that points to it

/** Draws rows x columns cells on a canvas. Events: onPick(row, column, event), onHover(row or null, column). */
export class Grid {
  constructor(stage, { across, down, isSquare = false }) {
    this.words = { across, down };
    this.isSquare = isSquare;
    this.canvas = stage.appendChild(document.createElement('canvas'));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.stage = stage;
    this.cells = null;
    this.marked = {}; // {row, column, beside} of cells (beside: a second column), and which are `bright` while the others fade
    this.onPick = this.onHover = nothing;
    this.rowName = this.columnName = (n) => n;
    /** @type {((column: number) => string) | null} of a column, for a second axis at the top */
    this.timeName = null;
    this.groups = []; // rows that begin a group, with a line above
    const at = (event) => this.#cell(event.offsetX, event.offsetY);
    this.canvas.addEventListener('click', (event) => {
      if (!this.wasBrushed && at(event)) this.onPick(...at(event), event);
      this.wasBrushed = false;
    });
    this.canvas.addEventListener('pointermove', (event) => {
      if (this.began) this.#brush(event);
      this.onHover(...(at(event) ?? [null, null]), event);
    });
    this.canvas.addEventListener('pointerleave', (event) => this.onHover(null, null, event));
    new ResizeObserver(() => this.draw()).observe(stage);
  }

  /** Lets a drag choose cells: chosen(first row, last row, first column, last column); a double click calls
   * `none`. */
  brushed(chosen, none) {
    this.canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || !this.#cell(event.offsetX, event.offsetY)) return;
      this.began = [event.offsetX, event.offsetY];
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointerup', (event) => {
      const cells = this.began && this.#between(this.began, [event.offsetX, event.offsetY]);
      const isDrag = this.began && Math.hypot(...this.#size(event)) > DRAG_PIXELS;
      [this.began, this.wasBrushed] = [null, isDrag];
      if (isDrag && cells) chosen(...cells);
      else this.draw();
    });
    this.canvas.addEventListener('dblclick', () => none());
  }

  #size(event) {
    return [event.offsetX - this.began[0], event.offsetY - this.began[1]];
  }

  #brush(event) {
    this.draw();
    const context = this.canvas.getContext('2d');
    const [wide, high] = this.#size(event);
    if (Math.hypot(wide, high) > DRAG_PIXELS) drawBox(context, ...this.began, wide, high);
  }

  /** The cells between two places, as far as there are any. */
  #between(a, b) {
    const [left, top, width, height] = this.box;
    const inside = (value, begin, size) => Math.min(Math.max(value, begin), begin + size - 0.01);
    const [one, other] = [a, b].map(([x, y]) =>
      this.#cell(inside(x, left, width), inside(y, top, height)),
    );
    const ends = (axis) => [Math.min(one[axis], other[axis]), Math.max(one[axis], other[axis])];
    return [...ends(0), ...ends(1)];
  }

  /** Shows values, row by row, the first row at the top; NaN where there are none. */
  show(values, nRows, nColumns, colours) {
    this.cells = { values, height: nRows, width: nColumns, colours };
    this.image = null;
    this.draw();
  }

  /** Marks a row and a column; null for none. */
  mark(marked) {
    this.marked = marked;
    this.draw();
  }

  /** Left, top, width and height of the cells, in pixels of the canvas. */
  get box() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const top = TOP + (this.timeName ? ABOVE : 0);
    const [wide, high] = [Math.max(width - LEFT - RIGHT, 1), Math.max(height - top - BOTTOM, 1)];
    const side = Math.min(wide, high);
    this.stage.style.setProperty('--right', `${LEFT + (this.isSquare ? side : wide) + RIGHT}px`);
    return this.isSquare ? [LEFT, top, side, side] : [LEFT, top, wide, high];
  }

  #cell(x, y) {
    if (!this.cells) return null;
    const [left, top, width, height] = this.box;
    const column = Math.floor(((x - left) / width) * this.cells.width);
    const row = Math.floor(((y - top) / height) * this.cells.height);
    const isInside = column >= 0 && row >= 0 && column < this.cells.width && row < this.cells.height;
    return isInside ? [row, column] : null;
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.stage;
    if (!clientWidth || !this.cells) return;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    const context = this.canvas.getContext('2d');
    context.scale(ratio, ratio);
    this.paint(context, ratio);
  }

  /** Draws cells, axes and marks. ratio : pixels of the image in one of the page. */
  paint(context, ratio = 1) {
    const [left, top, width, height] = this.box;
    context.imageSmoothingEnabled = false;
    context.drawImage(
      this.#drawn(Math.ceil(width * ratio), Math.ceil(height * ratio)),
      left,
      top,
      width,
      height,
    );
    context.strokeStyle = ink('--line');
    context.strokeRect(left - 0.5, top - 0.5, width + 1, height + 1);
    this.#axes(context, left, top, width, height);
    this.#mark(context, left, top, width, height);
  }

  /** The cells as an image of no more pixels than there are; of cells that share one, the largest counts. */
  #drawn(width, height) {
    const { cells } = this;
    const [nRows, nColumns] = [Math.min(cells.height, height), Math.min(cells.width, width)];
    if (this.image?.width === nColumns && this.image.height === nRows) return this.image;
    const largest = new Float32Array(nRows * nColumns).fill(NaN);
    for (let row = 0; row < cells.height; row += 1) {
      const begin = Math.floor((row * nRows) / cells.height) * nColumns;
      for (let column = 0; column < cells.width; column += 1) {
        const value = cells.values[row * cells.width + column];
        const at = begin + Math.floor((column * nColumns) / cells.width);
        if (!(value <= largest[at]) && !Number.isNaN(value)) largest[at] = value;
      }
    }
    this.image = new OffscreenCanvas(nColumns, nRows);
    const pixels = new Uint8ClampedArray(cells.colours.of(largest));
    this.image.getContext('2d').putImageData(new ImageData(pixels, nColumns, nRows), 0, 0);
    return this.image;
  }

  #axes(context, left, top, width, height) {
    context.fillStyle = ink('--quiet');
    context.font = '13px system-ui, sans-serif';
    const { width: nColumns, height: nRows } = this.cells;
    const { row: markedRow, column: markedColumn } = this.marked;
    const isFree = (at, marked, n, size, room) => // of the name of what is marked
      marked === null || marked === undefined || (Math.abs(at - marked) / n) * size > room;
    context.textAlign = 'center';
    for (const column of few(nColumns, Math.floor(width / 70))) {
      const x = left + ((column + 0.5) / nColumns) * width;
      context.fillRect(x, top + height, 1, 4);
      if (!isFree(column, markedColumn, nColumns, width, 34)) continue;
      context.fillText(this.columnName(column), x, top + height + 17);
    }
    if (this.timeName) this.#times(context, left, top, width);
    for (const row of this.groups) context.fillRect(left - 8, top + (row / nRows) * height, width + 8, 1);
    context.textAlign = 'right';
    for (const row of few(nRows, Math.floor(height / 26))) {
      const y = top + ((row + 0.5) / nRows) * height;
      context.fillRect(left - 4, y, 4, 1);
      if (!isFree(row, markedRow, nRows, height, 18)) continue;
      context.fillText(this.rowName(row), left - 8, y + 4.5);
    }
    context.fillStyle = ink('--quiet');
    context.fillText(this.words.across, left + width, top + height + 32);
    context.save();
    context.translate(14, top + height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = 'center';
    context.fillText(this.words.down, 0, 0);
    context.restore();
  }

  /** Times at the top, where there is room between them. */
  #times(context, left, top, width) {
    const { width: nColumns } = this.cells;
    for (const column of few(nColumns, Math.floor(width / 110))) {
      const text = this.timeName(column);
      const x = left + ((column + 0.5) / nColumns) * width;
      context.textAlign = column ? 'center' : 'left';
      if (text) context.fillText(text, column ? x : left, top - 7);
      if (text) context.fillRect(x, top - 4, 1, 4);
    }
  }

  /** Marks lie around what they mark: an outline, and in the margin a triangle and the name. */
  #mark(context, left, top, width, height) {
    const { row, column, beside, bright = [] } = this.marked;
    const span = (at, n, begin, size) => {
      const most = Math.max(size / n, THIN);
      return [begin + ((at + 0.5) / n) * size - most / 2, most];
    };
    const down = row === null || row === undefined ? null : span(row, this.cells.height, top, height);
    const across =
      column === null || column === undefined ? null : span(column, this.cells.width, left, width);
    context.save();
    context.globalAlpha = DIM;
    context.fillStyle = ink('--card');
    const [isRow, isColumn] = [down && bright.includes('row'), across && bright.includes('column')];
    const columns = isColumn
      ? [
          [left, across[0] - left],
          [across[0] + across[1], left + width - across[0] - across[1]],
        ]
      : [[left, width]];
    if (isRow) {
      for (const [x, wide] of columns) {
        context.fillRect(x, top, wide, down[0] - top);
        context.fillRect(x, down[0] + down[1], wide, top + height - down[0] - down[1]);
      }
    }
    context.restore();
    if (down) drawBox(context, left, down[0], width, down[1]);
    if (beside !== null && beside !== undefined && beside !== column) {
      const [x, wide] = span(beside, this.cells.width, left, width);
      drawBox(context, x, top, wide, height);
      this.#name(context, this.columnName(beside), x + wide / 2, top + height, false);
    }
    if (across) drawBox(context, across[0], top, across[1], height);
    if (down) this.#name(context, this.rowName(row), left, down[0] + down[1] / 2, true);
    if (across) this.#name(context, this.columnName(column), across[0] + across[1] / 2, top + height, false);
  }

  #name(context, text, x, y, isRow) {
    context.font = '600 13px system-ui, sans-serif';
    const wide = context.measureText(text).width + 8;
    context.fillStyle = ink('--card');
    if (isRow) context.fillRect(x - 10 - wide, y - 9, wide + 6, 18);
    else context.fillRect(x - wide / 2, y + 5, wide, 17);
    context.fillStyle = CHOSEN;
    context.beginPath();
    const [a, b] = isRow ? [-3, -3 - POINTER] : [3, 3 + POINTER];
    if (isRow) {
      context.moveTo(x + a, y);
      context.lineTo(x + b, y - POINTER / 1.5);
      context.lineTo(x + b, y + POINTER / 1.5);
    } else {
      context.moveTo(x, y + a);
      context.lineTo(x - POINTER / 1.5, y + b);
      context.lineTo(x + POINTER / 1.5, y + b);
    }
    context.fill();
    context.fillStyle = ink('--marked');
    context.textAlign = isRow ? 'right' : 'center';
    context.fillText(text, isRow ? x - 12 : x, isRow ? y + 4.5 : y + 21);
  }
}

/** About `most` round numbers of 0 .. n - 1. */
export function few(n, most) {
  const step =
    [1, 2, 5, 10, 20, 50, 100, 200, 250, 500, 1000, 2000].find((s) => n / s <= Math.max(most, 2)) ?? n;
  return Array.from({ length: Math.ceil(n / step) }, (_, k) => k * step);
}
