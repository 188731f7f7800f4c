// SPDX-License-Identifier: BSD-3-Clause
// The heat map: every rank in every step, in the colours of the field.

import { Latest, packed } from './api.js';
import { Grid } from './grid.js';
import { inWords } from './units.js';

const AGAIN_MS = 1000; // while the server reads

export class HeatMap {
  constructor(stage, app) {
    this.app = app;
    this.latest = new Latest();
    this.grid = new Grid(stage, { across: 'step', down: 'rank' });
    this.grid.columnName = (column) => app.stepName(this.#frame(column));
    this.grid.rowName = (row) => String(row * (this.heat?.ranks_per_bin ?? 1));
    this.grid.onPick = (row, column) => app.set({ rank: this.#rank(row), frame: this.#frame(column) });
    this.grid.onHover = (row, column, event) => {
      if (row === null) return app.tip(null);
      const value = this.heat.arrays.values[row * this.heat.arrays.values.shape[1] + column];
      const { ranks_per_bin: ranks, frames_per_bin: frames } = this.heat;
      const upTo = ranks > 1 || frames > 1 ? 'up to ' : '';
      return app.tip(event, [
        ranks > 1
          ? `ranks ${this.#rank(row)} to ${Math.min(this.#rank(row) + ranks, app.run.n_ranks) - 1}`
          : `rank ${row}`,
        frames > 1 ? `${app.stepWords(this.#frame(column))} and ${frames - 1} more` : app.stepWords(column),
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
    const heat = await this.latest.run((signal) =>
      packed(`api/heat?field=${encodeURIComponent(about.name)}`, signal),
    );
    if (!heat) return;
    [this.heat, this.about] = [heat, about];
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

  /** Takes other colours. */
  recolour() {
    if (!this.heat) return;
    const [nRows, nColumns] = this.heat.arrays.values.shape;
    if (nRows && nColumns) this.grid.show(this.heat.arrays.values, nRows, nColumns, this.app.colours);
  }

  /** Marks the chosen rank and the frame that is shown. */
  mark() {
    if (!this.heat) return;
    const { ranks_per_bin: ranks, frames_per_bin: frames } = this.heat;
    const { chosen, frame } = this.app;
    this.grid.mark({
      row: chosen === null ? null : Math.floor(chosen / ranks),
      column: Math.floor(frame / frames),
      bright: ['row'],
    });
  }

  #frame(column) {
    return Math.min(column * (this.heat?.frames_per_bin ?? 1), this.app.run.n_frames - 1);
  }

  #rank(row) {
    return Math.min(row * this.heat.ranks_per_bin, this.app.run.n_ranks - 1);
  }
}
