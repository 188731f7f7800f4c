// SPDX-License-Identifier: BSD-3-Clause
// The picture of the machine: nodes as planes, parts with the mean of their ranks, devices with what the ranks
// that use them do there, ranks with their values.

import { packed } from './api.js';
import { Cells, Lines, View3d, count } from './view3d.js';
import { drawMessages, drawOutline, drawWords } from './marks.js';

const PLAIN = { planes: [0.93, 0.93, 0.93], labels: [0.1, 0.1, 0.1], links: [0.6, 0.6, 0.6] };
const OUTLINE = [0.6, 0.6, 0.6];
const WHITE = [1, 1, 1];
const FROM_ABOVE = (8 * Math.PI) / 180; // of the view on several nodes, as in ParaView
const OUTLINED = 300; // outlines of more cells would cover them
const NAMED = 30; // more nodes carry no names

export class MachinePicture {
  constructor(vtk, stage, app) {
    this.vtk = vtk;
    this.app = app;
    this.view = new View3d(vtk, stage);
    this.view.onOverlay = (context, lens) => this.#overlay(context, lens);
    this.layers = new Map();
  }

  /** Fetches the picture, once. */
  async load(signal) {
    this.machine = await packed('api/machine', signal);
    const { arrays, layers } = this.machine;
    for (const { name, names, added_up: addedUp } of layers) {
      const layer = { name, names, addedUp, parts: [] };
      const get = (what) => arrays[`${name}/${what}`];
      const [points, polys, lines] = [get('points'), get('polys'), get('lines')];
      const nLines = count(lines);
      layer.rank = get('rank').subarray(nLines);
      layer.part = get('part').subarray(nLines);
      layer.below = get('below');
      layer.begin = get('below_begin');
      if (polys?.length) {
        const owners = layer.rank.map((_, cell) => cell);
        const cells = new Cells(this.vtk, points, { polys }, owners, owners.length);
        layer.cells = this.view.add(cells, name !== 'labels');
        layer.parts.push(layer.cells);
        if (name !== 'labels' && owners.length <= OUTLINED) {
          layer.parts.push(this.view.add(new Lines(this.vtk, points, outlines(polys), OUTLINE)));
        }
      }
      if (nLines) layer.parts.push(this.view.add(new Lines(this.vtk, points, lines, PLAIN[name] ?? OUTLINE)));
      this.layers.set(name, layer);
    }
    const { host, node } = this.app.run.ranks;
    this.hosts = new Map(node.map((number, rank) => [number, host[rank]]));
    this.from = arrays.line_from;
    this.to = arrays.line_to;
    this.look();
  }

  /** Points the camera at one node from the front, at several so that none hides another. */
  look() {
    const corners = [];
    for (const { cells } of this.layers.values())
      if (cells) for (const value of cells.points) corners.push(value);
    const planes = this.layers.get('planes')?.cells?.points ?? [];
    const depths = [...new Set(planes.filter((_, n) => n % 3 === 2))].sort((a, b) => a - b);
    if (depths.length < 2) return this.view.look(corners, [0, 0, -1], [0, 1, 0], true);
    const nearest = Math.min(...depths.slice(1).map((depth, n) => depth - depths[n]));
    const across = planes.filter((_, n) => n % 3 === 0).sort(); // numbers, as the array is typed
    const wide = across.at(-1) - across[0];
    const sideways = Math.atan2(1.05 * wide, nearest); // each plane ends where the next begins
    const flat = Math.cos(FROM_ABOVE);
    return this.view.look(
      corners,
      [Math.sin(sideways) * flat, -Math.sin(FROM_ABOVE), -Math.cos(sideways) * flat],
      [0, 1, 0],
      true,
    );
  }

  /** Colours ranks by their values, and parts by those of their ranks. values : of all ranks. */
  paint(values, colours) {
    this.values = values;
    for (const layer of this.layers.values()) {
      const { name, cells, rank, part } = layer;
      if (!cells) continue;
      const rgba = new Uint8Array(4 * rank.length);
      for (let cell = 0; cell < rank.length; cell += 1) {
        const value = this.#value(layer, rank[cell], part[cell]);
        if (value === undefined) rgba.set([...(PLAIN[name] ?? WHITE).map((c) => 255 * c), 255], 4 * cell);
        else colours.put(value, rgba, 4 * cell);
      }
      cells.paint(rgba);
    }
  }

  /** How a part's value comes from those of its ranks: the largest, their sum or their mean. */
  #joined({ name, addedUp }) {
    // A node of an overview shows the largest value of its ranks, so that none hides.
    if (name === 'measurements') return 'largest';
    return addedUp.includes(this.app.about.name) ? 'sum' : 'mean';
  }

  /** What a cell shows; undefined for cells of one plain colour. */
  #value(layer, rank, part) {
    const { name, below, begin } = layer;
    if (name in PLAIN || name === 'ranks') return undefined;
    if (rank >= 0) return this.values[rank];
    const ranks = part < 0 ? [] : below.subarray(begin[part], begin[part + 1]);
    if (!ranks.length) return undefined;
    const known = [...ranks].map((r) => this.values[r]).filter((value) => !Number.isNaN(value));
    if (!known.length) return NaN;
    const joined = this.#joined(layer);
    if (joined === 'largest') return known.reduce((most, value) => Math.max(most, value));
    return known.reduce((sum, value) => sum + value, 0) / (joined === 'sum' ? 1 : known.length);
  }

  /** The rank at a hit of the view; of a part, its rank with the largest value; null for none. */
  rankAt(hit) {
    const layer = hit && [...this.layers.values()].find(({ cells }) => cells === hit.part);
    if (!layer) return null;
    if (layer.rank[hit.cell] >= 0) return layer.rank[hit.cell];
    const part = layer.part[hit.cell];
    const ranks = part < 0 ? [] : [...layer.below.subarray(layer.begin[part], layer.begin[part + 1])];
    const of = (rank) => (Number.isNaN(this.values?.[rank] ?? NaN) ? -Infinity : this.values[rank]);
    return ranks.length ? ranks.reduce((best, rank) => (of(rank) > of(best) ? rank : best)) : null;
  }

  /** What a hit shows, in words: {name, value, nRanks, joined} of a part, or null where a rank is. */
  partAt(hit) {
    const layer = hit && [...this.layers.values()].find(({ cells }) => cells === hit.part);
    if (!layer || layer.rank[hit.cell] >= 0 || layer.part[hit.cell] < 0) return null;
    const part = layer.part[hit.cell];
    const value = this.#value(layer, -1, part);
    const nRanks = layer.begin[part + 1] - layer.begin[part];
    return { name: layer.names[part], value, nRanks, joined: this.#joined(layer) };
  }

  setLayer(name, isOn) {
    for (const part of this.layers.get(name)?.parts ?? []) part.actor.setVisibility(isOn);
  }

  /** Where a rank's cell is, in three dimensions. */
  middle(rank) {
    const box = this.#corners(rank);
    return box.length
      ? [0, 1, 2].map((axis) => box.reduce((sum, p) => sum + p[axis], 0) / box.length)
      : [NaN, NaN, NaN];
  }

  #overlay(context, lens) {
    const { app } = this;
    if (!this.machine) return;
    const at = (array, rank) => array.subarray(3 * rank, 3 * rank + 3);
    const ends = (pairs) =>
      pairs.map(({ from, to, bytes, colour }) => [at(this.from, from), at(this.to, to), bytes, colour]);
    if (app.layers.messages) drawMessages(context, lens, ends(app.messages));
    this.#nameHosts(context, lens);
    if (app.chosen === null) return;
    drawMessages(context, lens, ends(app.partners));
    const corners = this.#corners(app.chosen);
    drawOutline(
      context,
      lens,
      corners.map((corner, n) => [corner, corners[(n + 1) % corners.length]]),
    );
    if (!corners.length) return;
    const { width, height } = this.view;
    drawWords(context, lens, `rank ${app.chosen}`, this.middle(app.chosen), {
      width,
      height,
      bold: true,
      dy: 32,
    });
  }

  #nameHosts(context, lens) {
    const planes = this.layers.get('planes');
    if (!planes?.cells?.visible || planes.part.length > NAMED) return;
    const { width, height } = this.view;
    planes.part.forEach((node, cell) => {
      const corners = this.#cellCorners(planes, cell);
      const top = Math.max(...corners.map((corner) => corner[1]));
      const upper = corners.filter((corner) => corner[1] >= top - 1e-6);
      const middle = [0, 1, 2].map((axis) => upper.reduce((sum, p) => sum + p[axis], 0) / upper.length);
      drawWords(context, lens, this.hosts.get(node) ?? '', middle, { width, height, dy: -6 });
    });
  }

  /** Corners of the cell with a rank's value; in an overview, of its node. */
  #corners(rank) {
    const layer = this.layers.get('measurements') ?? this.layers.get('ranks');
    if (!layer?.cells) return [];
    let cell = layer.rank.indexOf(rank);
    if (cell < 0) {
      cell = layer.part.findIndex(
        (part) => part >= 0 && layer.below.subarray(layer.begin[part], layer.begin[part + 1]).includes(rank),
      );
    }
    return cell < 0 ? [] : this.#cellCorners(layer, cell);
  }

  #cellCorners({ cells }, cell) {
    let at = 0;
    for (let n = 0; n < cell; n += 1) at += cells.polys[at] + 1;
    const corners = cells.polys.subarray(at + 1, at + 1 + cells.polys[at]);
    return [...corners].map((point) => [...cells.points.subarray(3 * point, 3 * point + 3)]);
  }
}

/** The edges of polygons, as lines. */
function outlines(polys) {
  const out = [];
  for (let at = 0; at < polys.length; at += polys[at] + 1) {
    out.push(polys[at] + 1, ...polys.subarray(at + 1, at + 1 + polys[at]), polys[at + 1]);
  }
  return Uint32Array.from(out);
}
