// SPDX-License-Identifier: BSD-3-Clause
// A table of numbers as coloured cells with two axes: the base of the heat map and of the matrix.

import { CHOSEN } from './marks.js';

const LEFT = 58; // pixels for the numbers of the rows
const BOTTOM = 38;
const TOP = 6;
const RIGHT = 10;

/** Draws rows x columns cells on a canvas. Events: onPick(row, column), onHover(row or null, column). */
export class Grid {
  constructor(stage, { across, down, isSquare = false }) {
    this.words = { across, down };
    this.isSquare = isSquare;
    this.canvas = stage.appendChild(document.createElement('canvas'));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.stage = stage;
    this.cells = null;
    this.marked = {}; // {row, column} in cells, fractions allowed
    this.onPick = this.onHover = () => {};
    this.rowName = this.columnName = (n) => n;
    const at = (event) => this.#cell(event.offsetX, event.offsetY);
    this.canvas.addEventListener('click', (event) => at(event) && this.onPick(...at(event)));
    this.canvas.addEventListener('pointermove', (event) =>
      this.onHover(...(at(event) ?? [null, null]), event),
    );
    this.canvas.addEventListener('pointerleave', (event) => this.onHover(null, null, event));
    new ResizeObserver(() => this.draw()).observe(stage);
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
    const [wide, high] = [Math.max(width - LEFT - RIGHT, 1), Math.max(height - TOP - BOTTOM, 1)];
    const side = Math.min(wide, high);
    this.stage.style.setProperty('--right', `${LEFT + (this.isSquare ? side : wide) + RIGHT}px`);
    return this.isSquare ? [LEFT, TOP, side, side] : [LEFT, TOP, wide, high];
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
    const [left, top, width, height] = this.box;
    context.imageSmoothingEnabled = false;
    context.drawImage(
      this.#drawn(Math.ceil(width * ratio), Math.ceil(height * ratio)),
      left,
      top,
      width,
      height,
    );
    context.strokeStyle = '#c9ced6';
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
    context.fillStyle = '#4b5563';
    context.font = '13px system-ui, sans-serif';
    const { width: nColumns, height: nRows } = this.cells;
    context.textAlign = 'center';
    for (const column of few(nColumns, Math.floor(width / 70))) {
      const x = left + ((column + 0.5) / nColumns) * width;
      context.fillRect(x, top + height, 1, 4);
      context.fillText(this.columnName(column), x, top + height + 17);
    }
    context.textAlign = 'right';
    for (const row of few(nRows, Math.floor(height / 26))) {
      const y = top + ((row + 0.5) / nRows) * height;
      context.fillRect(left - 4, y, 4, 1);
      context.fillText(this.rowName(row), left - 8, y + 4.5);
    }
    context.fillStyle = '#6b7280';
    context.fillText(this.words.across, left + width, top + height + 32);
    context.save();
    context.translate(14, top + height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = 'center';
    context.fillText(this.words.down, 0, 0);
    context.restore();
  }

  #mark(context, left, top, width, height) {
    const { row, column } = this.marked;
    const stroke = (x, y, wide, high) => {
      context.strokeStyle = 'rgba(255, 255, 255, 0.9)';
      context.lineWidth = 3.5;
      context.strokeRect(x, y, wide, high);
      context.strokeStyle = CHOSEN;
      context.lineWidth = 1.5;
      context.strokeRect(x, y, wide, high);
    };
    context.save();
    context.beginPath();
    context.rect(left - 3, top - 3, width + 6, height + 6);
    context.clip();
    const [wide, high] = [Math.max(width / this.cells.width, 3), Math.max(height / this.cells.height, 3)];
    if (row !== null && row !== undefined)
      stroke(left, top + (row / this.cells.height) * height, width, high);
    if (column !== null && column !== undefined)
      stroke(left + (column / this.cells.width) * width, top, wide, height);
    context.restore();
  }
}

/** About `most` round numbers of 0 .. n - 1. */
function few(n, most) {
  const step =
    [1, 2, 5, 10, 20, 50, 100, 200, 250, 500, 1000, 2000].find((s) => n / s <= Math.max(most, 2)) ?? n;
  return Array.from({ length: Math.ceil(n / step) }, (_, k) => k * step);
}
