// SPDX-License-Identifier: BSD-3-Clause
// The matrix of messages: who sends how many bytes to whom, in all steps.

import { Latest } from './api.js';
import { Colours } from './colours.js';
import * as data from './data.js';
import { Grid } from './grid.js';
import { make } from './legend.js';
import { ink } from './theme.js';
import { inWords } from './units.js';

const AGAIN_MS = 1000; // while the server reads

export class Matrix {
  constructor(stage, app) {
    this.app = app;
    this.latest = new Latest();
    this.grid = new Grid(stage, { across: 'receiver', down: 'sender', isSquare: true });
    this.side = stage.appendChild(make('div', 'matrix-side'));
    this.grid.columnName = this.grid.rowName = (n) => String(n * (this.matrix?.ranks_per_bin ?? 1));
    this.grid.onPick = (row) => app.set({ rank: row * this.matrix.ranks_per_bin });
    this.grid.onHover = (row, column, event) => {
      if (row === null) return app.tip(null);
      const {
        arrays: { bytes, count },
        n_bins: n,
      } = this.matrix;
      const at = row * n + column;
      const [from, to] = [this.#ranks(row), this.#ranks(column)];
      return app.tip(event, [
        `${from} to ${to}`,
        count[at] ? `${inWords(bytes[at], 'B')} in ${messages(count[at])}` : 'no messages',
      ]);
    };
  }

  /** Fetches and draws the sums over all steps; asks again until the server has read them. */
  async show() {
    const [from, to] = this.app.span ?? [0, this.app.run.n_frames];
    const matrix = await this.latest.run((signal) => data.matrix(from, to, signal));
    if (!matrix) return;
    this.matrix = matrix;
    const { bytes, count } = matrix.arrays;
    // By the logarithm: few bytes remain visible beside many.
    const logs = Float32Array.from(bytes, (sum, n) => (count[n] ? Math.log10(1 + sum) : NaN));
    const range = logs.reduce(
      ([low, high], log) => (Number.isNaN(log) ? [low, high] : [Math.min(low, log), Math.max(high, log)]),
      [Infinity, 0],
    );
    const scale = [Math.max(0, Math.min(range[0], range[1] - 1)), range[1]]; // a decade or more
    const colours = new Colours(
      { map: 'viridis', scale, range: scale },
      { absent: ink('--ground'), beyond: ink('--ground') },
    );
    if (matrix.n_bins) this.grid.show(logs, matrix.n_bins, matrix.n_bins, colours);
    this.grid.canvas.setAttribute(
      'aria-label',
      `bytes that each of ${this.app.run.n_ranks} ranks sends to each`,
    );
    this.legend = range[1] > 0 ? this.#legend(colours, scale) : null;
    this.mark();
    const read = matrix.complete ? 'all' : `${matrix.frames_read} of ${matrix.frames_wanted}`;
    const steps = this.app.span ? `of ${to - from} steps` : `of ${read} steps`;
    document.querySelector('#matrix .caption').textContent = `sender by receiver, bytes ${steps}`;
    clearTimeout(this.again);
    if (!matrix.complete) this.again = setTimeout(() => this.app.try(this.show()), AGAIN_MS);
  }

  #legend(colours, scale) {
    const [low, high] = scale;
    const legend = make('div', 'matrix-legend');
    const bar = make('div', 'legend-bar');
    bar.style.background = colours.gradient();
    const ends = make('div', 'matrix-ends');
    const words = [low, high].map((log) => inWords(10 ** log - 1, 'B'));
    ends.append(...words.map((text) => make('span', '', text)));
    legend.append(bar, ends, make('div', 'quiet', 'logarithmic'));
    return legend;
  }

  /** The pairs that exchange messages, as rows of a table. */
  table() {
    const { arrays, n_bins: n, ranks_per_bin: each } = this.matrix;
    const rows = [...arrays.count].flatMap((count, at) =>
      count ? [[Math.floor(at / n) * each, (at % n) * each, arrays.bytes[at], count]] : [],
    );
    return [['sender', 'receiver', 'bytes', 'messages'], ...rows];
  }

  /** Words beside the matrix: the sums of the run, and those of the chosen rank. */
  #describe() {
    const {
      arrays: { bytes, count },
      n_bins: n,
    } = this.matrix;
    const sum = (chosen) => {
      const found = { bytes: 0, count: 0, pairs: 0 };
      count.forEach((times, at) => {
        if (!times || !chosen(Math.floor(at / n), at % n)) return;
        found.bytes += bytes[at];
        found.count += times;
        found.pairs += 1;
      });
      return found.count ? `${inWords(found.bytes, 'B')} in ${messages(found.count)}` : 'nothing';
    };
    const lines = [`All ranks send ${sum(() => true)}.`];
    const bin = this.marked;
    if (bin !== null) {
      const who = this.#ranks(bin);
      const [sends, receives] = who.startsWith('ranks') ? ['send', 'receive'] : ['sends', 'receives'];
      lines.push(
        `${who[0].toUpperCase()}${who.slice(1)} ${sends} ${sum((row) => row === bin)}` +
          ` and ${receives} ${sum((_, column) => column === bin)}.`,
      );
    }
    this.side.replaceChildren(
      ...(this.legend ? [this.legend] : []),
      ...lines.map((line) => make('p', '', line)),
    );
  }

  mark() {
    if (!this.matrix) return;
    this.marked = this.app.chosen === null ? null : Math.floor(this.app.chosen / this.matrix.ranks_per_bin);
    this.grid.mark({ row: this.marked, column: this.marked, bright: ['row', 'column'] });
    this.#describe();
  }

  #ranks(bin) {
    const { ranks_per_bin: n } = this.matrix;
    return n > 1 ? `ranks ${bin * n} to ${Math.min((bin + 1) * n, this.app.run.n_ranks) - 1}` : `rank ${bin}`;
  }
}

/** "1 message", "1,200 messages". */
function messages(n) {
  return `${n.toLocaleString('en')} ${n === 1 ? 'message' : 'messages'}`;
}
