// SPDX-License-Identifier: BSD-3-Clause
// Cells of a picture in the plane, mostly rectangles: drawn, written on, and found below a point.

import { ink } from './theme.js';

const OUTLINED = 5; // pixels; narrower cells have no outline, so their colours are the legend's
const LEAST = 10; // pixels of a font
const MOST = 13;

export class Cells2d {
  /** points : (n, 2); polys : [n, p0, p1, .., n, ..]. */
  constructor(points, polys) {
    const boxes = [];
    this.corners = []; // of cells that are no rectangles
    for (let at = 0, cell = 0; at < polys.length; at += polys[at] + 1, cell += 1) {
      let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
      const corners = polys.subarray(at + 1, at + 1 + polys[at]);
      for (const p of corners) {
        const [x, y] = [points[2 * p], points[2 * p + 1]];
        [left, right, low, high] = [Math.min(left, x), Math.max(right, x), Math.min(low, y), Math.max(high, y)];
      }
      boxes.push(left, right, low, high);
      const isAt = (value, one, other) => value === one || value === other;
      const isCorner = (p) => isAt(points[2 * p], left, right) && isAt(points[2 * p + 1], low, high);
      if (!corners.every(isCorner)) this.corners[cell] = Array.from(corners, (p) => [points[2 * p], points[2 * p + 1]]);
    }
    this.boxes = Float32Array.from(boxes);
    this.length = boxes.length / 4;
  }

  /** Left, right, low and high of a cell. */
  box(cell) {
    return this.boxes.subarray(4 * cell, 4 * cell + 4);
  }

  /** The cell at a point; -1 for none. */
  at(x, y) {
    for (let n = 0; n < this.length; n += 1) {
      const [left, right, low, high] = this.box(n);
      if (x >= left && x <= right && y >= low && y <= high) return n;
    }
    return -1;
  }

  /** Left, top, width and height of a cell in pixels; null out of sight. */
  seen(view, cell) {
    const [left, right, low, high] = this.box(cell);
    const [x, y] = view.pixel(left, high);
    const [wide, tall] = [(right - left) * view.scale, (high - low) * view.scale];
    return x + wide < 0 || y + tall < 0 || x > view.width || y > view.height ? null : [x, y, wide, tall];
  }

  /** Fills cells; colours : a CSS colour of each, or one of all. chosen : only these. */
  fill(context, view, colours, chosen = null) {
    const isOne = typeof colours === 'string';
    const edge = ink('--edge');
    if (isOne) context.fillStyle = colours;
    const each = (cell) => {
      const box = this.seen(view, cell);
      if (!box) return;
      if (!isOne) context.fillStyle = colours[cell];
      const [x, y, wide, tall] = box;
      const hasOutline = wide > OUTLINED && tall > OUTLINED && edge && !isOne;
      if (hasOutline) context.strokeStyle = edge;
      if (this.corners[cell]) {
        context.beginPath();
        for (const corner of this.corners[cell]) context.lineTo(...view.pixel(...corner));
        context.closePath();
        context.fill();
        if (hasOutline) context.stroke();
        return;
      }
      context.fillRect(x, y, Math.max(wide, 0.5), Math.max(tall, 0.5));
      if (hasOutline) context.strokeRect(x + 0.5, y + 0.5, wide - 1, tall - 1);
    };
    context.lineWidth = 1;
    if (chosen) for (const cell of chosen) each(cell);
    else for (let cell = 0; cell < this.length; cell += 1) each(cell);
  }

  /** Writes words in the cells that have room for them. words(cell) : "" for none; colours as for `fill`;
   * fade(cell) : how far its colour is faded, 0 to 1. */
  write(context, view, words, colours, fade) {
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    for (let cell = 0; cell < this.length; cell += 1) {
      const box = this.seen(view, cell);
      if (!box || box[3] < LEAST + 3 || box[2] < 2 * LEAST) continue;
      const text = words(cell);
      if (!text) continue;
      const size = Math.min(MOST, box[3] - 3);
      context.font = `${size}px system-ui, sans-serif`;
      if (context.measureText(text).width > box[2] - 6) continue;
      context.fillStyle = readable(colours[cell], fade(cell));
      const [left, right] = [Math.max(box[0], 0), Math.min(box[0] + box[2], view.width)]; // of what is seen
      context.fillText(text, (left + right) / 2, box[1] + box[3] / 2 + 0.5);
    }
    context.textBaseline = 'alphabetic';
  }
}

/** Black or white, whichever is read better on a colour "rgb(r g b)" that is faded to the card's. */
function readable(colour, fade) {
  const [above, below] = [colour, ink('--card')].map(brightness);
  return above * (1 - fade) + below * fade > 140 ? '#111' : '#fff';
}

function brightness(colour) {
  const [r, g, b] = colour.match(/\d+/g).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b;
}
