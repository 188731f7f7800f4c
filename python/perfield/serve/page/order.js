// SPDX-License-Identifier: BSD-3-Clause
// Orders of ranks: as they are numbered, by value, by node, or so that neighbours on the mesh lie side by side.

const BITS = 10; // of a coordinate along the curve

/** The numbers 0 .. n - 1 by ascending key(number), which is a number or an array of numbers; NaN comes last. */
export function sorted(n, key) {
  const keys = Array.from({ length: n }, (_, number) => [key(number)].flat());
  const compare = (a, b) => {
    const [one, other] = [keys[a], keys[b]];
    for (let at = 0; at < one.length; at += 1) {
      const [x, y] = [one[at], other[at]].map((part) => (Number.isNaN(part) ? Infinity : part));
      if (x !== y) return x - y;
    }
    return a - b;
  };
  return keys.map((_, number) => number).sort(compare);
}

/** How far along a Hilbert curve each point lies, which keeps neighbours together (Skilling, Programming the
 * Hilbert curve, 2004). points : (n, 3); NaN for points that are not known. */
export function alongCurve(points) {
  const [low, high] = [Math.min, Math.max].map((end) =>
    [0, 1, 2].map((axis) =>
      points.reduce((found, value, n) => (n % 3 === axis && !Number.isNaN(value) ? end(found, value) : found),
        end === Math.min ? Infinity : -Infinity),
    ),
  );
  const longest = Math.max(...high.map((value, axis) => value - low[axis])) || 1;
  return Array.from({ length: points.length / 3 }, (_, n) => {
    const point = [0, 1, 2].map((axis) => (points[3 * n + axis] - low[axis]) / longest);
    return point.some(Number.isNaN) ? NaN : onCurve(point.map((part) => Math.floor(part * (2 ** BITS - 1))));
  });
}

function onCurve(x) {
  for (let q = 2 ** (BITS - 1); q > 1; q >>= 1) {
    for (let axis = 0; axis < 3; axis += 1) {
      if (x[axis] & q) x[0] ^= q - 1;
      else {
        const t = (x[0] ^ x[axis]) & (q - 1);
        [x[0], x[axis]] = [x[0] ^ t, x[axis] ^ t];
      }
    }
  }
  x[1] ^= x[0];
  x[2] ^= x[1];
  let t = 0;
  for (let q = 2 ** (BITS - 1); q > 1; q >>= 1) if (x[2] & q) t ^= q - 1;
  let along = 0;
  for (let bit = BITS - 1; bit >= 0; bit -= 1) {
    for (let axis = 0; axis < 3; axis += 1) along = 2 * along + (((x[axis] ^ t) >> bit) & 1);
  }
  return along;
}
