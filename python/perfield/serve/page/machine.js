// SPDX-License-Identifier: BSD-3-Clause
// The picture of the machine, flat: each part below what holds it, with the mean of its ranks, devices with what
// the ranks that use them do there, ranks with their values.

import { Latest } from './api.js';
import { Cells2d } from './cells2d.js';
import * as data from './data.js';
import { drawBox, drawMessages, drawThin } from './marks.js';
import { ink } from './theme.js';
import { View2d } from './view2d.js';

const PLAIN = { planes: '--plane', labels: '--ink' }; // layers of one colour
const BELOW = 28; // pixels for lines of messages
const ROUND = 40; // pixels: sizes that differ less have the same picture
const AGAIN_MS = 250; // after the card has changed its size
const DIM = 0.5; // how far cells of others fade
const FADED = 0.8; // and those outside the part that is looked at
const LETTER = 0.72; // of a font, its capital letters

export class MachinePicture {
  machine = null; // as the server sent it
  size = null; // in pixels, for which it was made
  values = null; // of all ranks
  colours = null;
  from = null; // where lines of messages begin and end, of each rank
  to = null;

  constructor(stage, app) {
    this.app = app;
    this.latest = new Latest();
    this.view = new View2d(stage);
    this.view.onDraw = (context) => this.#draw(context);
    this.view.onOverlay = (context) => this.#overlay(context);
    this.view.base.setAttribute('aria-label', 'the machine: parts above the ranks that they hold');
    this.view.onResize = () => this.#fitLater();
    this.layers = new Map();
    this.off = new Set(); // layers that are switched off
  }

  /** Fetches the picture for the size of its card. */
  async load() {
    const size = this.wanted;
    const machine = await this.latest.run((signal) => data.machine(...size, signal, this.app.of));
    if (!machine) return;
    [this.machine, this.size] = [machine, size];
    const { arrays, layers } = machine;
    this.layers.clear();
    for (const { name, names, types, added_up: addedUp } of layers) {
      const get = (what) => arrays[`${name}/${what}`];
      const cells = new Cells2d(get('points'), get('polys'));
      const [rank, part, below, begin] = ['rank', 'part', 'below', 'below_begin'].map(get);
      this.layers.set(name, { name, names, types, addedUp, cells, rank, part, below, begin, colours: [] });
    }
    this.written = new Set(machine.texts.map(([text]) => text));
    this.#placeLines(arrays.line_from, arrays.line_to);
    if (this.values) this.paint(this.values, this.colours);
    this.look();
  }

  /** Keeps lines within the room below the picture, which is for them. */
  #placeLines(from, to) {
    const [left, right] = this.machine.box;
    const room = (BELOW * (right - left)) / this.size[0];
    const depths = to.map((y, at) => (at % 2 ? from[at] - y : 0)).filter((depth) => !Number.isNaN(depth));
    const deepest = depths.reduce((most, depth) => Math.max(most, depth), 0);
    const share = Math.min(1, room / Math.max(deepest, 1e-9));
    this.room = Math.min(room, deepest);
    [this.from, this.to] = [from, to.map((at, n) => (n % 2 ? from[n] + (at - from[n]) * share : at))];
  }

  /** Shows the whole picture. */
  look() {
    const [left, right, low, high] = this.machine.box;
    this.view.look([left, right, low - this.room, high]);
  }

  /** Width and height of the picture that fills the card. */
  get wanted() {
    const { width = 1000, height = 500 } = this.view;
    return [width, height - BELOW].map((side) => Math.max(120, Math.round((side - 16) / ROUND) * ROUND));
  }

  #fitLater() {
    clearTimeout(this.later);
    if (!this.machine || this.machine.overview) return;
    this.later = setTimeout(() => {
      if (this.wanted.join() !== this.size.join() && this.view.zoom === 1) this.app.try(this.load());
    }, AGAIN_MS);
  }

  /** Colours ranks by their values, and parts by those of their ranks. values : of all ranks. */
  paint(values, colours) {
    [this.values, this.colours] = [values, colours];
    const rgba = new Uint8Array(4);
    for (const layer of this.layers.values()) {
      layer.colours = Array.from(layer.rank, (rank, cell) => {
        const value = this.#value(layer, rank, layer.part[cell]);
        if (value === undefined) return ink('--card');
        colours.put(value, rgba, 0);
        if (this.#isOutside(layer, cell)) fade(rgba);
        return `rgb(${rgba[0]} ${rgba[1]} ${rgba[2]})`;
      });
    }
  }

  /** Whether no rank of a cell is in the part that is looked at. */
  #isOutside(layer, cell) {
    const { ranks } = this.app;
    if (ranks === null) return false;
    const rank = layer.rank[cell];
    return rank >= 0 ? !ranks.has(rank) : !this.ranksOf({ layer, cell }).some((one) => ranks.has(one));
  }

  /** How a part's value comes from those of its ranks: the largest, their sum or their mean. */
  #joined({ name, addedUp }) {
    // A node of an overview shows the largest value of its ranks, so that none hides.
    if (name === 'measurements') return 'largest';
    return addedUp.includes(this.app.about.name) ? 'sum' : 'mean';
  }

  /** What a cell shows; undefined for cells without any. */
  #value(layer, rank, part) {
    const { name, below, begin } = layer;
    if (name in PLAIN || name === 'ranks') return undefined;
    if (rank >= 0) return this.values[rank];
    let [sum, known, most] = [0, 0, NaN];
    const isMore = (value) => (this.app.isChange ? Math.abs(value) > Math.abs(most) : value > most);
    const end = begin[part + 1];
    if (end === begin[part]) return undefined;
    for (let n = begin[part]; n < end; n += 1) {
      const value = this.values[below[n]];
      if (Number.isNaN(value)) continue;
      [sum, known] = [sum + value, known + 1];
      if (Number.isNaN(most) || isMore(value)) most = value;
    }
    if (!known) return NaN;
    const joined = this.#joined(layer);
    return joined === 'largest' ? most : joined === 'sum' ? sum : sum / known;
  }

  /** The uppermost cell at a point: {layer, cell}, or null. */
  at(x, y) {
    for (const layer of [...this.layers.values()].reverse()) {
      if (layer.name in PLAIN || this.off.has(layer.name)) continue;
      const cell = layer.cells.at(x, y);
      if (cell >= 0) return { layer, cell };
    }
    return null;
  }

  /** The rank at a hit of `at`; of a part, its rank with the largest value; null for none. */
  rankAt(hit) {
    if (!hit) return null;
    const { layer, cell } = hit;
    if (layer.rank[cell] >= 0) return layer.rank[cell];
    const ranks = this.ranksOf(hit);
    const of = (rank) => (Number.isNaN(this.values?.[rank] ?? NaN) ? -Infinity : this.values[rank]);
    return ranks.length ? ranks.reduce((best, rank) => (of(rank) > of(best) ? rank : best)) : null;
  }

  /** The ranks of a part. */
  ranksOf({ layer: { part, below, begin }, cell }) {
    return [...below.subarray(begin[part[cell]], begin[part[cell] + 1])];
  }

  /** What a hit shows, in words: {name, value, nRanks, joined} of a part, or null where a rank is. */
  partAt(hit) {
    if (!hit || hit.layer.rank[hit.cell] >= 0) return null;
    const { layer, cell } = hit;
    const part = layer.part[cell];
    const value = this.#value(layer, -1, part);
    return {
      name: layer.names[part],
      value,
      nRanks: this.ranksOf(hit).length,
      joined: this.#joined(layer),
    };
  }

  setLayer(name, isOn) {
    if (isOn) this.off.delete(name);
    else this.off.add(name);
  }

  /** Where a rank's cell is. */
  middle(rank) {
    const found = this.#cellsOf(rank).at(-1);
    if (!found) return [NaN, NaN];
    const [left, right, low, high] = found[0].cells.box(found[1]);
    return [(left + right) / 2, (low + high) / 2];
  }

  /** The cells that hold a rank, from switches down: [[layer, cell]]. */
  #cellsOf(rank) {
    const found = [];
    for (const layer of this.layers.values()) {
      if (layer.name in PLAIN) continue;
      for (let cell = 0; cell < layer.rank.length; cell += 1) {
        const holds = layer.rank[cell] < 0 && this.ranksOf({ layer, cell }).includes(rank);
        if (layer.rank[cell] === rank || holds) found.push([layer, cell]);
      }
    }
    return found;
  }

  #draw(context) {
    const { view } = this;
    for (const layer of this.layers.values()) {
      const { name, cells, colours } = layer;
      if (this.off.has(name)) continue;
      if (name in PLAIN) cells.fill(context, view, ink(PLAIN[name]));
      else if (colours.length) cells.fill(context, view, colours);
    }
    this.#write(context, () => 0);
  }

  /** Writes in cells that have room for it, and beside them what the layout wants there.
   * fade(layer, cell) : how far a cell's colour is faded. */
  #write(context, fade) {
    for (const layer of this.layers.values()) {
      const { name, cells, colours } = layer;
      if (name in PLAIN || this.off.has(name) || !colours.length) continue;
      const words = (cell) => this.#words(layer, cell);
      cells.write(context, this.view, words, colours, (cell) => fade(layer, cell));
    }
    this.#writeTexts(context);
  }

  /** What is written in a cell with room for it, unless it is written beside it. */
  #words({ name, names, types, rank, part }, cell) {
    if (rank[cell] >= 0) {
      const isNumbered = name === 'ranks' || !this.layers.has('ranks');
      const text = String(rank[cell]);
      return isNumbered && !this.written.has(text) ? text : '';
    }
    const text = names?.[part[cell]] ?? '';
    if (types?.[part[cell]] === 'node' || name === 'switches') return this.written.has(text) ? '' : text;
    return text.split(' of ')[0].split(' on ')[0];
  }

  #writeTexts(context) {
    const { view } = this;
    context.fillStyle = ink('--ink');
    context.textBaseline = 'middle';
    for (const [text, x, y, height, aligned] of this.machine.texts) {
      const [left, top] = view.pixel(x, y);
      if (top < -20 || top > view.height + 20 || left < -200 || left > view.width + 200) continue;
      const size = Math.min((height * view.scale) / LETTER, 15);
      if (size < 7) continue;
      context.font = `${size}px system-ui, sans-serif`;
      context.textAlign = ['left', 'center', 'right'][Math.round(2 * aligned)];
      context.fillText(text, left, top);
    }
    context.textBaseline = 'alphabetic';
  }

  /** Marks the cell of a rank whose change is more than chance. */
  #outlineThin(context, rank) {
    const own = this.#cellsOf(rank).at(-1);
    if (!own) return;
    const [left, right, low, high] = own[0].cells.box(own[1]);
    const corners = [[left, low], [right, low], [right, high], [left, high], [left, low]];
    drawThin(context, [corners.map((corner) => this.view.pixel(...corner))]);
  }

  #overlay(context) {
    const { app, view } = this;
    if (!this.machine) return;
    const at = (array, rank) => array.subarray(2 * rank, 2 * rank + 2);
    const ends = (pairs) =>
      pairs.map(({ from, to, bytes, colour }) => [at(this.from, from), at(this.to, to), bytes, colour]);
    if (app.layers.messages) drawMessages(context, view, ends(app.messages));
    for (const rank of app.beyond ?? []) this.#outlineThin(context, rank);
    if (app.chosen === null) return;
    const cells = this.#cellsOf(app.chosen);
    context.globalAlpha = DIM;
    context.fillStyle = ink('--card');
    context.fillRect(0, 0, view.width, view.height);
    context.globalAlpha = 1;
    for (const [layer, cell] of cells) {
      if (this.off.has(layer.name) || !layer.colours.length) continue;
      layer.cells.fill(context, view, layer.colours, [cell]);
    }
    const isBright = (layer, cell) => cells.some(([one, at]) => one === layer && at === cell);
    this.#write(context, (layer, cell) => (isBright(layer, cell) ? 0 : DIM));
    drawMessages(context, view, ends(app.partners));
    const own = cells.at(-1);
    if (!own) return;
    const [left, right, low, high] = own[0].cells.box(own[1]);
    const [[x, y], [toX, toY]] = [view.pixel(left, high), view.pixel(right, low)];
    drawBox(context, x, y, toX - x, toY - y);
  }
}

/** Fades a colour to that of the card. */
function fade(rgba) {
  const card = ink('--card').match(/\d+/g).map(Number);
  for (let part = 0; part < 3; part += 1) rgba[part] += Math.round(FADED * (card[part] - rgba[part]));
}
