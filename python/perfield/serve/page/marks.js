// SPDX-License-Identifier: BSD-3-Clause
// What is drawn above the pictures: lines of messages, the mark of the chosen rank, and words.

export const CHOSEN = '#d6006c'; // one colour for the chosen rank, everywhere
export const RECEIVED = '#0072b2';
const THIN = 14; // pixels: a mark must not cover what it marks
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

/** Draws segments, [[from, to]], in the colour of the chosen rank on a white edge. */
export function drawOutline(context, lens, segments) {
  const pixels = segments.map(([from, to]) => [lens.pixel(...from), lens.pixel(...to)]);
  const heights = pixels.flatMap(([a, b]) => (a && b ? [a[1], b[1]] : []));
  const isThin = Math.max(...heights) - Math.min(...heights) < THIN;
  const strokes = isThin
    ? [[CHOSEN, 1.5]]
    : [
        ['rgba(255, 255, 255, 0.9)', 5],
        [CHOSEN, 2.5],
      ];
  context.lineCap = 'round';
  for (const [colour, width] of strokes) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    for (const [a, b] of pixels) {
      if (!a || !b) continue;
      context.moveTo(...a);
      context.lineTo(...b);
    }
    context.stroke();
  }
}

/** Writes words beside a point, on a white ground, inside a view of width x height pixels. */
export function drawWords(
  context,
  lens,
  text,
  point,
  { width, height, colour = '#222', bold = false, dy = 0 },
) {
  const at = lens.pixel(...point);
  if (!at) return;
  context.font = `${bold ? '600 ' : ''}13px system-ui, sans-serif`;
  const wide = context.measureText(text).width;
  const x = Math.min(Math.max(at[0] - wide / 2, 6), width - wide - 6);
  const y = Math.min(Math.max(at[1] + dy, 16), height - 8);
  context.fillStyle = 'rgba(255, 255, 255, 0.88)';
  context.beginPath();
  context.roundRect(x - 5, y - 14, wide + 10, 19, 4);
  context.fill();
  context.fillStyle = colour;
  context.fillText(text, x, y);
}
