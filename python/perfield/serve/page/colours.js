// SPDX-License-Identifier: BSD-3-Clause
// Turns values into colours: a map over a scale, one colour beyond its end, grey where nothing was measured.

import { MAPS } from './maps.js';

const STEPS = 256;
const tables = Object.fromEntries(Object.entries(MAPS).map(([name, hex]) => [name, table(hex)]));

function table(hex) {
  const known = hex.match(/../g).map((part) => parseInt(part, 16));
  const last = known.length / 3 - 1;
  const out = new Uint8Array(3 * STEPS);
  for (let n = 0; n < STEPS; n += 1) {
    const at = (n / (STEPS - 1)) * last;
    const low = Math.min(Math.floor(at), last - 1);
    for (let part = 0; part < 3; part += 1) {
      const [one, other] = [known[3 * low + part], known[3 * low + 3 + part]];
      out[3 * n + part] = Math.round(one + (other - one) * (at - low));
    }
  }
  return out;
}

/** "#rrggbb" as three numbers. */
export function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** The colours of a field: its map over its scale. */
export class Colours {
  low = 0;
  high = 1;

  /** about : a row of the fields of /api/run; palette : that of /api/run. */
  constructor(about, palette) {
    this.table = tables[about.map] ?? tables.viridis;
    [this.low, this.high] = about.scale ?? about.range ?? [0, 1];
    if (!(this.high > this.low)) this.high = this.low + 1;
    this.most = about.range?.[1] ?? this.high;
    this.absent = rgb(palette.absent);
    this.beyond = rgb(palette.beyond);
  }

  /** Writes the colour of a value into RGBA bytes. */
  put(value, out, at) {
    /** @type {ArrayLike<number>} */
    let from = this.table;
    let begin = 0;
    if (Number.isNaN(value)) from = this.absent;
    else if (value > this.high * (1 + 1e-6)) from = this.beyond;
    else {
      const share = (value - this.low) / (this.high - this.low);
      begin = 3 * Math.max(0, Math.min(STEPS - 1, Math.floor(share * STEPS)));
    }
    out[at] = from[begin];
    out[at + 1] = from[begin + 1];
    out[at + 2] = from[begin + 2];
    out[at + 3] = 255;
  }

  /** RGBA bytes of all values. */
  of(values) {
    const out = new Uint8Array(4 * values.length);
    for (let n = 0; n < values.length; n += 1) this.put(values[n], out, 4 * n);
    return out;
  }

  /** The map as a gradient for CSS, from left to right. */
  gradient() {
    const stops = Array.from({ length: 17 }, (_, n) => {
      const at = 3 * Math.round((n / 16) * (STEPS - 1));
      return `rgb(${this.table.slice(at, at + 3).join(' ')})`;
    });
    return `linear-gradient(to right, ${stops.join(', ')})`;
  }
}
