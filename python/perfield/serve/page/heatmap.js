// SPDX-License-Identifier: BSD-3-Clause
// The heat map: every rank in every step, in the colours of the field.

import { Latest } from './api.js';
import * as data from './data.js';
import { get } from './elements.js';
import { Grid } from './grid.js';
import { alongCurve, sorted } from './order.js';
import { amount, inWords, unitFor } from './units.js';

const AGAIN_MS = 1000; // while the server reads

export class HeatMap {
  heat = null; // as the server sent it
  about = null; // the field that it shows

  constructor(stage, app) {
    this.app = app;
    this.latest = new Latest();
    this.grid = new Grid(stage, { across: 'step', down: 'rank' });
    this.grid.columnName = (column) => app.stepName(this.#frame(column));
    this.grid.rowName = (row) => String(this.#rank(row));
    this.grid.timeName = (column) => this.#time(column);
    this.order = 'rank'; // of rows: a key of ORDERS
    this.rows = []; // the bin of ranks in each row
    this.grid.brushed(
      (top, bottom, left, right) => this.zoom(top, bottom, left, right),
      () => this.all(),
    );
    const sort = get('sort');
    sort.addEventListener('change', () => this.sort(sort.value));
    document.getElementById('all').addEventListener('click', () => this.all());
    this.grid.onPick = (row, column, event) => {
      if (event.shiftKey) app.set({ beside: this.#frame(column) });
      else app.set({ rank: this.#rank(row), frame: this.#frame(column) });
    };
    this.grid.onHover = (row, column, event) => {
      if (row === null) return app.tip(null);
      const value = this.grid.cells.values[row * this.grid.cells.width + column];
      const { ranks_per_bin: ranks, frames_per_bin: frames } = this.heat;
      const upTo = ranks > 1 || frames > 1 ? 'up to ' : '';
      return app.tip(event, [
        ranks > 1
          ? `ranks ${this.#rank(row)} to ${Math.min(this.#rank(row) + ranks, app.run.n_ranks) - 1}`
          : `rank ${this.#rank(row)}`,
        this.#host(row, ranks),
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
    [this.heat, this.about] = [heat, about];
    if (about.computed) this.app.learn(about, heat);
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

  /** Sorts rows: by rank, by value in the step that is shown (the largest first), by node, or by mesh. */
  sort(order) {
    this.order = order;
    get('sort').value = order;
    this.recolour();
  }

  /** Shows some rows and columns of those that are shown; all views follow. */
  zoom(top, bottom, left, right) {
    const first = this.span?.[0] ?? 0;
    const { ranks_per_bin: each } = this.heat;
    const rows = this.rows.slice(top, bottom + 1);
    const isAll = rows.length === this.rows.length;
    const ranks = isAll ? this.app.ranks : rows.flatMap((row) => inBin(row, each, this.app.run.n_ranks));
    const end = Math.min((first + right + 1) * this.heat.frames_per_bin, this.app.run.n_frames);
    this.app.setPart([this.#frame(left), end], ranks && new Set(ranks));
  }

  /** Shows all rows and columns. */
  all() {
    this.app.setPart(null, null);
  }

  /** The first and the last column of the part that is shown; null for all. */
  get span() {
    const { span } = this.app;
    const each = this.heat?.frames_per_bin;
    return span && each ? [Math.floor(span[0] / each), Math.ceil(span[1] / each) - 1] : null;
  }

  /** The rows that are shown, in their order. */
  #ordered(nRows, nColumns) {
    const { app, heat } = this;
    const { ranks_per_bin: each } = heat;
    const { node, core } = app.run.ranks;
    const now = Math.floor(app.frame / heat.frames_per_bin);
    const along = this.order === 'mesh' ? alongCurve(app.pictures.mesh?.centres ?? []) : [];
    const key = {
      rank: (row) => row,
      value: (row) => -heat.arrays.values[row * nColumns + now],
      node: (row) => [node[row * each] < 0 ? Infinity : node[row * each], core[row * each] ?? Infinity],
      mesh: (row) => along[row * each] ?? NaN,
    }[this.order];
    const { ranks } = app;
    return sorted(nRows, key).filter(
      (row) => ranks === null || inBin(row, each, app.run.n_ranks).some((rank) => ranks.has(rank)),
    );
  }

  /** The part that is shown, as rows of a table. */
  table() {
    const { values, width, height } = this.grid.cells;
    const columns = Array.from({ length: width }, (_, column) => this.columnTitle(column));
    const rows = Array.from({ length: height }, (_, row) => [
      this.#rank(row),
      ...values.subarray(row * width, (row + 1) * width),
    ]);
    return [['rank', ...columns], ...rows];
  }

  columnTitle(column) {
    return `step ${this.app.stepName(this.#frame(column))}`;
  }

  /** Draws the values anew: in other colours, in another order, or a part of them. */
  recolour() {
    if (!this.heat) return;
    const { values } = this.heat.arrays;
    const [nRows, nColumns] = values.shape;
    if (!nRows || !nColumns) return;
    const [left, right] = this.span ?? [0, nColumns - 1];
    this.rows = this.#ordered(nRows, nColumns);
    const shown = new Float32Array(this.rows.length * (right - left + 1));
    this.rows.forEach((row, n) =>
      shown.set(values.subarray(row * nColumns + left, row * nColumns + right + 1), n * (right - left + 1)),
    );
    this.grid.groups = this.order === 'node' ? this.#nodes() : [];
    this.grid.marked = this.#marked();
    this.grid.show(shown, this.rows.length, right - left + 1, this.app.colours);
  }

  /** The rows at which another node begins. */
  #nodes() {
    const { node } = this.app.run.ranks;
    const of = this.rows.map((row) => node[row * this.heat.ranks_per_bin]);
    return of.flatMap((number, row) => (row && number !== of[row - 1] ? [row] : []));
  }

  /** Marks the chosen rank and the frame that is shown. */
  mark() {
    if (!this.heat) return;
    if (this.order === 'value') this.recolour();
    else this.grid.mark(this.#marked());
  }

  #marked() {
    const { ranks_per_bin: ranks, frames_per_bin: frames } = this.heat;
    const { chosen, frame } = this.app;
    const row = chosen === null ? -1 : this.rows.indexOf(Math.floor(chosen / ranks));
    const { isOther, wanted } = this.app.compared;
    const [column, beside] = [frame, isOther ? null : wanted].map((one) => {
      const at = one === null ? -1 : Math.floor(one / frames) - (this.span?.[0] ?? 0);
      return at >= 0 && at < (this.span ? this.span[1] - this.span[0] + 1 : Infinity) ? at : null;
    });
    return { row: row < 0 ? null : row, column, beside, bright: ['row'] };
  }

  #frame(column) {
    const first = this.span?.[0] ?? 0;
    return Math.min((first + column) * (this.heat?.frames_per_bin ?? 1), this.app.run.n_frames - 1);
  }

  #rank(row) {
    return Math.min((this.rows[row] ?? row) * this.heat.ranks_per_bin, this.app.run.n_ranks - 1);
  }

  #host(row, ranks) {
    return ranks > 1 ? '' : (this.app.run.ranks.host[this.#rank(row)] ?? '');
  }

  /** When a column's step began, since the first one did; "" where nobody knows. */
  #time(column) {
    const { begin_s: begins } = this.app.run.frames;
    const [first, here] = [begins?.[0], begins?.[this.#frame(column)]];
    if (first === null || first === undefined || here === null) return '';
    const [factor, unit] = unitFor('s', begins.at(-1) - first);
    return `${amount(Math.max(here - first, 0) * factor)} ${unit}`;
  }
}

/** The ranks of a row. */
function inBin(row, each, nRanks) {
  return Array.from({ length: Math.min(each, nRanks - row * each) }, (_, n) => row * each + n);
}
