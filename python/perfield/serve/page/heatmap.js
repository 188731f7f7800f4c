// SPDX-License-Identifier: BSD-3-Clause
// The heat map: every rank in every step, in the colours of the field.

import { Latest } from './api.js';
import * as data from './data.js';
import { Grid } from './grid.js';
import { inWords } from './units.js';

const AGAIN_MS = 1000; // while the server reads

export class HeatMap {
  constructor(stage, app) {
    this.app = app;
    this.latest = new Latest();
    this.grid = new Grid(stage, { across: 'step', down: 'rank' });
    this.grid.columnName = (column) => app.stepName(this.#frame(column));
    this.grid.rowName = (row) => String(this.#rank(row));
    this.byValue = false; // whether rows are sorted by their values in the step
    this.span = null; // first and last row and column of the part that is shown
    this.rows = []; // the bin of ranks in each row
    this.grid.brushed(
      (top, bottom, left, right) => this.zoom(top, bottom, left, right),
      () => this.zoom(),
    );
    const sort = document.getElementById('sort');
    sort.addEventListener('change', () => this.sort(sort.value === 'value'));
    this.grid.onPick = (row, column) => app.set({ rank: this.#rank(row), frame: this.#frame(column) });
    this.grid.onHover = (row, column, event) => {
      if (row === null) return app.tip(null);
      const value = this.grid.cells.values[row * this.grid.cells.width + column];
      const { ranks_per_bin: ranks, frames_per_bin: frames } = this.heat;
      const upTo = ranks > 1 || frames > 1 ? 'up to ' : '';
      return app.tip(event, [
        ranks > 1
          ? `ranks ${this.#rank(row)} to ${Math.min(this.#rank(row) + ranks, app.run.n_ranks) - 1}`
          : `rank ${this.#rank(row)}`,
        app.stepWords(this.#frame(column)) + (frames > 1 ? ` and ${frames - 1} more` : ''),
        upTo + inWords(value, this.about.unit),
      ]);
    };
    this.grid.canvas.addEventListener('keydown', (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const rank = app.chosen === null ? 0 : app.chosen + by;
      app.set({ rank: Math.min(Math.max(rank, 0), app.run.n_ranks - 1) });
    });
  }

  /** Fetches and draws a field; asks again until the server has read all steps. */
  async show(about) {
    const heat = await this.latest.run((signal) => data.heat(about.name, signal));
    if (!heat) return;
    const isOther = this.heat?.frames_per_bin !== heat.frames_per_bin;
    [this.heat, this.about] = [heat, about];
    if (isOther) this.span = null; // its columns are others
    if (about.computed) this.app.learn(about, heat);
    const [nRows, nColumns] = heat.arrays.values.shape;
    const { n_ranks: nRanks, n_frames: nFrames } = this.app.run;
    this.grid.canvas.setAttribute('aria-label', `${about.title} of ${nRanks} ranks over ${nFrames} steps`);
    this.recolour();
    this.mark();
    document.querySelector('#heat .caption').textContent = heat.complete
      ? 'rank by step, in the colours above'
      : 'the run is being read; grey steps follow';
    clearTimeout(this.again);
    if (!heat.complete) this.again = setTimeout(() => this.app.try(this.show(about)), AGAIN_MS);
  }

  /** Sorts rows by their values in the step that is shown, the largest first, or by rank. */
  sort(byValue) {
    this.byValue = byValue;
    this.span = this.span && [0, this.heat.arrays.values.shape[0] - 1, ...this.span.slice(2)];
    this.recolour();
  }

  /** Shows some rows and columns of those that are shown, or all; other views add up the same steps. */
  zoom(top, bottom, left, right) {
    const [row, , column] = this.span ?? [0, 0, 0];
    this.span = top === undefined ? null : [row + top, row + bottom, column + left, column + right];
    this.recolour();
    this.app.setSpan(this.span && [this.#frame(0), this.#frame(right - left + 1)]);
  }

  /** Draws the values anew: in other colours, in another order, or a part of them. */
  recolour() {
    if (!this.heat) return;
    const { values } = this.heat.arrays;
    const [nRows, nColumns] = values.shape;
    if (!nRows || !nColumns) return;
    const [top, bottom, left, right] = this.span ?? [0, nRows - 1, 0, nColumns - 1];
    const now = Math.floor(this.app.frame / this.heat.frames_per_bin);
    const of = (row) => (Number.isNaN(values[row * nColumns + now]) ? -Infinity : values[row * nColumns + now]);
    const order = Array.from({ length: nRows }, (_, row) => row);
    if (this.byValue) order.sort((a, b) => of(b) - of(a) || a - b);
    this.rows = order.slice(top, bottom + 1);
    const shown = new Float32Array(this.rows.length * (right - left + 1));
    this.rows.forEach((row, n) =>
      shown.set(values.subarray(row * nColumns + left, row * nColumns + right + 1), n * (right - left + 1)),
    );
    this.grid.marked = this.#marked();
    this.grid.show(shown, this.rows.length, right - left + 1, this.app.colours);
  }

  /** Marks the chosen rank and the frame that is shown. */
  mark() {
    if (!this.heat) return;
    if (this.byValue) this.recolour();
    else this.grid.mark(this.#marked());
  }

  #marked() {
    const { ranks_per_bin: ranks, frames_per_bin: frames } = this.heat;
    const { chosen, frame } = this.app;
    const row = chosen === null ? -1 : this.rows.indexOf(Math.floor(chosen / ranks));
    const column = Math.floor(frame / frames) - (this.span?.[2] ?? 0);
    const isSeen = column >= 0 && column < (this.span ? this.span[3] - this.span[2] + 1 : Infinity);
    return { row: row < 0 ? null : row, column: isSeen ? column : null, bright: ['row'] };
  }

  #frame(column) {
    const first = this.span?.[2] ?? 0;
    return Math.min((first + column) * (this.heat?.frames_per_bin ?? 1), this.app.run.n_frames - 1);
  }

  #rank(row) {
    return Math.min((this.rows[row] ?? row) * this.heat.ranks_per_bin, this.app.run.n_ranks - 1);
  }
}
