// SPDX-License-Identifier: BSD-3-Clause
// Where a camera shows points, which ray belongs to a pixel, and where a camera must be to show a picture.

const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const add = (a, b, by = 1) => [a[0] + by * b[0], a[1] + by * b[1], a[2] + by * b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => {
  const length = Math.hypot(...a) || 1;
  return [a[0] / length, a[1] / length, a[2] / length];
};

/** Three unit vectors: to the right, up and forward, of a direction of sight. */
function axes(direction, up) {
  const forward = unit(direction);
  const right = unit(cross(forward, up));
  return { right, up: cross(right, forward), forward };
}

/** A camera of vtk.js, as it shows points in a view of width x height pixels. */
export class Lens {
  /** @type {number[]} */
  right;
  /** @type {number[]} */
  up;
  /** @type {number[]} */
  forward;

  constructor(camera, width, height) {
    this.position = camera.getPosition();
    Object.assign(this, axes(camera.getDirectionOfProjection(), camera.getViewUp()));
    this.parallel = camera.getParallelProjection();
    const half = this.parallel
      ? camera.getParallelScale()
      : Math.tan((camera.getViewAngle() * Math.PI) / 360);
    this.scale = height / 2 / half; // pixels a unit, in perspective at distance 1
    this.middle = [width / 2, height / 2];
  }

  /** [x, y] in pixels from the upper left corner; null behind the camera. */
  pixel(x, y, z) {
    const at = [x - this.position[0], y - this.position[1], z - this.position[2]];
    const depth = this.parallel ? 1 : dot(at, this.forward);
    if (depth <= 0) return null;
    const by = this.scale / depth;
    return [this.middle[0] + by * dot(at, this.right), this.middle[1] - by * dot(at, this.up)];
  }

  /** The ray of a pixel: {origin, direction}. */
  ray(x, y) {
    const sideways = (x - this.middle[0]) / this.scale;
    const above = (this.middle[1] - y) / this.scale;
    if (!this.parallel) {
      return {
        origin: this.position,
        direction: unit(add(add(this.forward, this.right, sideways), this.up, above)),
      };
    }
    return { origin: add(add(this.position, this.right, sideways), this.up, above), direction: this.forward };
  }
}

/** The least and the largest coordinate of points (x, y, z, x, ..) along an axis. */
function reach(points, axis) {
  const [x, y, z] = axis;
  let [low, high] = [Infinity, -Infinity];
  for (let n = 0; n < points.length; n += 3) {
    const at = x * points[n] + y * points[n + 1] + z * points[n + 2];
    if (at < low) low = at;
    if (at > high) high = at;
  }
  return low > high ? [-1, 1] : [low, high];
}

/** Points a camera at points (x, y, z, x, ..) so that they fill a view; margin : a share of the view. */
export function fit(camera, points, direction, up, aspect, margin = 0.06) {
  const seen = axes(direction, up);
  const ends = Object.fromEntries(Object.entries(seen).map(([name, axis]) => [name, reach(points, axis)]));
  const size = (name) => ends[name][1] - ends[name][0];
  const half = Math.max(size('up') / 2, size('right') / 2 / aspect, 1e-9) * (1 + 2 * margin);
  let focus = [0, 0, 0];
  for (const name of Object.keys(ends)) focus = add(focus, seen[name], (ends[name][0] + ends[name][1]) / 2);
  const away = half / Math.tan((camera.getViewAngle() * Math.PI) / 360) + size('forward') / 2;
  camera.setFocalPoint(...focus);
  camera.setPosition(...add(focus, seen.forward, -away));
  camera.setViewUp(...seen.up);
  camera.setParallelScale(half);
}

const GROUP = 256; // polygons that one ball encloses, which most rays miss

/** Balls around groups of polygons, by which `firstHit` finds its way: [{at, cell, n, x, y, z, squared}]. */
export function balls(points, polys) {
  const out = [];
  for (let at = 0, cell = 0; at < polys.length;) {
    const ball = { at, cell, n: 0 };
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    for (; ball.n < GROUP && at < polys.length; ball.n += 1, cell += 1, at += polys[at] + 1) {
      for (let corner = at + 1; corner <= at + polys[at]; corner += 1) {
        for (let axis = 0; axis < 3; axis += 1) {
          const value = points[3 * polys[corner] + axis];
          if (value < low[axis]) low[axis] = value;
          if (value > high[axis]) high[axis] = value;
        }
      }
    }
    [ball.x, ball.y, ball.z] = low.map((value, axis) => (value + high[axis]) / 2);
    ball.squared = (1.001 * Math.hypot(...sub(high, low)) * 0.5) ** 2;
    out.push(ball);
  }
  return out;
}

/** The first polygon that a ray hits: {distance, cell}, or null. polys : [n, p0, p1, .., n, ..]. isCut(point) :
 * whether a clipping plane took a point away. */
export function firstHit({ origin, direction }, points, polys, around, isCut = /** @type {(point: number[]) => boolean} */ (() => false)) {
  const best = { distance: Infinity, cell: -1 };
  for (const ball of around) {
    const to = sub([ball.x, ball.y, ball.z], origin);
    const along = dot(to, direction);
    if (dot(to, to) - along * along > ball.squared) continue;
    for (let n = 0, at = ball.at; n < ball.n; n += 1, at += polys[at] + 1) {
      for (let corner = at + 2; corner < at + polys[at]; corner += 1) {
        const distance = hitOf(
          origin,
          direction,
          points,
          3 * polys[at + 1],
          3 * polys[corner],
          3 * polys[corner + 1],
        );
        const isNearer = distance > 0 && distance < best.distance;
        if (isNearer && !isCut(add(origin, direction, distance))) {
          best.distance = distance;
          best.cell = ball.cell + n;
        }
      }
    }
  }
  return best.cell < 0 ? null : best;
}

/** How far along a ray a triangle is hit; -1 if it is not (Moeller and Trumbore, 1997). */
function hitOf(origin, direction, points, a, b, c) {
  const corner = (at) => [points[at], points[at + 1], points[at + 2]];
  const from = corner(a);
  const [one, other] = [sub(corner(b), from), sub(corner(c), from)];
  const across = cross(direction, other);
  const volume = dot(one, across);
  if (volume === 0) return -1;
  const to = sub(origin, from);
  const u = dot(to, across) / volume;
  if (u < 0 || u > 1) return -1;
  const turned = cross(to, one);
  const v = dot(direction, turned) / volume;
  return v < 0 || u + v > 1 ? -1 : dot(other, turned) / volume;
}
