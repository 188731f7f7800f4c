// SPDX-License-Identifier: BSD-3-Clause
// What is drawn above the pictures: lines of messages, and the mark of the chosen rank.

import { ink } from './theme.js';

export const CHOSEN = '#d6006c'; // one colour for the chosen rank, everywhere
export const RECEIVED = '#0072b2';
/** @type {[string, number][]} colours and pixels, the widest first */
const OUTLINE = [
  ['#000', 5],
  ['#fff', 3],
  ['#000', 1],
];
const AWAY = 2; // pixels of an outline from its box
const LINE = { thinnest: 1.2, thickest: 6 }; // pixels at the sender

/** Draws messages as lines, thick at their sender and thin at their receiver, and the thicker, the more bytes.
 *
 * ends : [[from, to, bytes, colour]] with points of three coordinates. sideways : pixels by which a line keeps to
 * its right, so that the lines of both directions lie beside one another.
 */
export function drawMessages(context, lens, ends, sideways = 0) {
  const known = ends.filter(([from, to]) => ![...from, ...to].some(Number.isNaN));
  const logs = known.map(([, , bytes]) => Math.log10(1 + bytes));
  const [least, most] = [Math.min(...logs), Math.max(...logs)];
  known.forEach(([from, to, , colour], n) => {
    const [a, b] = [lens.pixel(...from), lens.pixel(...to)];
    if (!a || !b) return;
    const share = most > least ? (logs[n] - least) / (most - least) : 0.5;
    const width = LINE.thinnest + share * (LINE.thickest - LINE.thinnest);
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
    if (length < 1) return;
    const across = [-(b[1] - a[1]) / length, (b[0] - a[0]) / length];
    const [x, y] = across.map((part) => (part * width) / 2);
    for (const end of [a, b]) across.forEach((part, axis) => (end[axis] += part * sideways));
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(a[0] + x, a[1] + y);
    context.lineTo(b[0] + x * 0.12, b[1] + y * 0.12);
    context.lineTo(b[0] - x * 0.12, b[1] - y * 0.12);
    context.lineTo(a[0] - x, a[1] - y);
    context.fill();
  });
}

/** Draws paths of pixels, [[[x, y], ..]], black, white and black, which is seen on every colour by everyone.
 * thick : 1 for 5 pixels. */
export function drawOutline(context, paths, thick = 1) {
  context.lineJoin = context.lineCap = 'round';
  for (const [colour, width] of OUTLINE) {
    context.strokeStyle = colour;
    context.lineWidth = width * thick;
    context.beginPath();
    for (const path of paths) path.forEach((at, n) => (n ? context.lineTo(...at) : context.moveTo(...at)));
    context.stroke();
  }
}

/** Draws paths of pixels as one thin line: of what is beyond chance. */
export function drawThin(context, paths) {
  context.strokeStyle = ink('--ink');
  context.lineWidth = 1.6;
  context.beginPath();
  for (const path of paths) path.forEach((at, n) => (n ? context.lineTo(...at) : context.moveTo(...at)));
  context.stroke();
}

/** Draws the outline of a box around it, so that the box stays as it is. */
export function drawBox(context, x, y, wide, high) {
  const [left, top, right, bottom] = [x - AWAY, y - AWAY, x + wide + AWAY, y + high + AWAY];
  drawOutline(context, [
    [
      [left, top],
      [right, top],
      [right, bottom],
      [left, bottom],
      [left, top],
    ],
  ]);
}
