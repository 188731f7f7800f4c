// SPDX-License-Identifier: BSD-3-Clause
// The picture of the mesh: each rank's piece in the colour of its value, or the simulation's own field.

import * as data from './data.js';
import { Cells, Lines, View3d, clip, count } from './view3d.js';
import { drawMessages, drawOutline, drawThin } from './marks.js';
import { ink } from './theme.js';

const APART = 1; // pieces of a mesh in space are apart at first, so that few ranks are hidden
const EDGE = [1, 1, 1]; // white parts pieces of one dark colour
const CELL_EDGE = [0.35, 0.35, 0.35];
const MOST_CELLS = 20000; // on the surface whose edges show at first, as in images
const DIM = 0.5; // how far pieces of others fade
const CLEAR = 0.25; // opacity of pieces that one sees through
const SIDEWAYS = 3; // pixels between the lines of both directions, each way

export class MeshPicture {
  /** app : see main.js; the picture reads `app.chosen`, `app.messages`, `app.partners` and draws them. */
  constructor(vtk, stage, app) {
    this.vtk = vtk;
    this.app = app;
    this.view = new View3d(vtk, stage);
    this.view.onOverlay = (context, lens) => this.#overlay(context, lens);
    this.apart = null;
    this.version = null;
    this.own = null; // {field, frame} of the simulation's own field that is shown
  }

  /** Fetches the surface of a version of the mesh, once, and looks at the first. sent : its request, if it was
   * made before. */
  async load(version, signal, sent = null) {
    if (version === this.version) return;
    const mesh = await (sent ?? data.mesh(version, signal, this.app.of));
    const { points, verts, strokes, polys, rank, centres } = mesh.arrays;
    const { lines, line_points: ends, line_rank: whose } = mesh.arrays;
    for (const part of [this.surface, this.edges, this.opaque]) if (part) this.view.remove(part);
    this.opaque = null;
    this.mesh = mesh;
    this.centres = centres;
    const cells = new Cells(this.vtk, points, { verts, lines: strokes, polys }, rank, this.app.run.n_ranks);
    this.surface = this.view.add(cells, true);
    this.surface.actor.getProperty().set({ edgeColor: CELL_EDGE, lineWidth: 1 });
    this.edges = this.view.add(new Lines(this.vtk, ends, lines, this.app.isChange ? CELL_EDGE : EDGE, 0.8, whose));
    const isFirst = this.version === null;
    this.version = version;
    const cellEdges = (this.app.layers.cells ??= count(polys) <= MOST_CELLS);
    for (const name of ['edges', 'cells']) this.setLayer(name, { ...this.app.layers, cells: cellEdges }[name]);
    this.explode(this.apart ?? (mesh.flat || this.app.run.n_ranks === 1 ? 0 : APART));
    if (isFirst) this.look();
    await this.cut(this.app.cut, signal);
  }

  /** Points the camera at the mesh as the server says, which is as in pictures of ParaView. */
  look() {
    const { direction, up, flat } = this.mesh;
    this.view.look(this.surface.points, direction, up, flat);
  }

  /** Gives each rank's piece its colour; rgba : of each rank. */
  paint(rgba) {
    if (!this.surface) return;
    this.view.isPainted = true;
    this.#seeThrough(Boolean(this.app.layers.clear));
    this.surface.paintEach(this.vtk, null);
    const faded = this.#faded(rgba, (rank) => rank);
    this.slice?.paintEach(this.vtk, null);
    for (const part of [this.surface, this.opaque, this.slice]) part?.paint(faded);
  }

  /** Cuts the mesh: {kind: 'clip' or 'slice', axis: 0 to 2, at: 0 to 1 of its extent}; null shows it whole. */
  async cut(cut, signal) {
    const isSlice = cut?.kind === 'slice';
    const found = isSlice
      ? await data.slice(this.version, cut.axis, Math.round(1000 * cut.at), this.own, signal, this.app.of)
      : null;
    if (this.slice) this.view.remove(this.slice);
    this.slice = null;
    if (found) {
      const { points, strokes, polys, rank, values } = found.arrays;
      this.slice = new Cells(this.vtk, points, { lines: strokes, polys }, rank, this.app.run.n_ranks);
      this.slice.actor.getProperty().set({ edgeColor: CELL_EDGE, lineWidth: polys.length ? 1 : 4 });
      this.view.add(this.slice, true);
      this.slice.move(this.moved);
      this.slice.values = values;
    }
    this.hasCut = cut;
    for (const part of [this.surface, this.opaque]) part?.actor.setVisibility(!isSlice);
    for (const name of ['edges', 'cells']) this.setLayer(name, this.app.layers[name]);
    this.#clip();
  }

  /** Takes away what lies between the reader and the plane of a clip. Of closed pieces only the inner side is drawn,
   * as one looks into them: seen from there, each piece looks filled. */
  #clip() {
    const { hasCut: cut } = this;
    const isClip = cut?.kind === 'clip';
    let plane = null;
    if (isClip) {
      const { points } = this.surface;
      let [low, high] = [Infinity, -Infinity];
      for (let n = cut.axis; n < points.length; n += 3) {
        if (points[n] < low) low = points[n];
        if (points[n] > high) high = points[n];
      }
      plane = { axis: cut.axis, at: low + cut.at * (high - low), sign: Math.sign(this.mesh.direction[cut.axis]) || 1 };
    }
    for (const part of [this.surface, this.opaque, this.edges]) if (part) clip(this.vtk, part, plane);
    for (const part of [this.surface, this.opaque]) {
      part?.actor.getProperty().setFrontfaceCulling(isClip && Boolean(this.mesh.solid));
    }
  }

  /** Lets one see through all pieces but those that do not fade, which are drawn once more. */
  #seeThrough(isWanted) {
    const { app } = this;
    const isClear = isWanted && (app.chosen !== null || app.ranks !== null);
    const key = isClear ? `${app.chosen} ${[...(app.ranks ?? [])]}` : '';
    this.surface.actor.getProperty().setOpacity(isClear ? CLEAR : 1);
    if (key === this.seen && Boolean(this.opaque) === isClear) return;
    this.seen = key;
    if (this.opaque) this.view.remove(this.opaque);
    this.opaque = null;
    if (isClear) this.#drawOpaque();
    this.setLayer('cells', app.layers.cells);
  }

  /** Draws the pieces that do not fade once more. */
  #drawOpaque() {
    const { app } = this;
    const { points } = this.mesh.arrays;
    this.opaque = this.surface.only(this.vtk, points, (rank) => !app.isFaded(rank), app.run.n_ranks);
    this.view.add(this.opaque);
    this.opaque.move(this.moved);
    this.opaque.actor.setVisibility(this.surface.visible);
    this.opaque.actor.getProperty().set({ edgeColor: CELL_EDGE, lineWidth: 1 });
    this.#clip();
  }

  /** Shows values of the simulation's own field: on the surface, or where it is sliced. */
  paintOwn(values, association, colours) {
    this.view.isPainted = true;
    this.#seeThrough(false);
    const part = this.slice ?? this.surface;
    const owners = association === 'point' ? part.pointOwners : part.owners;
    const rgba = this.#faded(colours.of(this.slice ? this.slice.values : values), (at) => owners[at]);
    part.paintEach(this.vtk, rgba, association);
  }

  /** Takes {field, frame} of the simulation's own field that is shown, or null. */
  async show(own, signal) {
    const isOther = own?.field !== this.own?.field || own?.frame !== this.own?.frame;
    this.own = own;
    if (isOther && this.slice) await this.cut(this.app.cut, signal);
  }

  /** Colours of which all fade but those of the chosen rank, or of the part that is looked at. owner(n) : the rank of each. */
  #faded(rgba, owner) {
    const { app } = this;
    if (app.chosen === null && app.ranks === null) return rgba;
    const card = ink('--card').match(/\d+/g).map(Number);
    for (let n = 0; n < rgba.length / 4; n += 1) {
      if (!app.isFaded(owner(n))) continue;
      for (let part = 0; part < 3; part += 1) {
        rgba[4 * n + part] += Math.round(DIM * (card[part] - rgba[4 * n + part]));
      }
    }
    return rgba;
  }

  /** Moves the pieces apart: 1 doubles the distances between their middles. */
  explode(factor) {
    this.apart = factor;
    if (!this.surface) return;
    const [x0, x1, y0, y1, z0, z1] = this.mesh.bounds;
    const middle = [(x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2];
    this.moved = (rank) =>
      [0, 1, 2].map((axis) => {
        const from = this.centres[3 * rank + axis];
        return rank < 0 || Number.isNaN(from) ? 0 : factor * (from - middle[axis]);
      });
    for (const part of [this.surface, this.edges, this.opaque, this.slice]) part?.move(this.moved);
    this.#clip();
  }

  setLayer(name, isOn) {
    if (name === 'edges') this.edges?.actor.setVisibility(isOn && !this.slice);
    if (name === 'cells') {
      for (const part of [this.surface, this.opaque, this.slice]) {
        part?.actor.getProperty().setEdgeVisibility(isOn && (part !== this.surface || !this.opaque));
      }
    }
  }

  /** The rank at a hit of the view. */
  rankAt(hit) {
    return hit ? hit.part.owners[hit.cell] : null;
  }

  /** The middle of a rank's piece, as it is shown. */
  middle(rank) {
    const way = this.moved(rank);
    return [0, 1, 2].map((axis) => this.centres[3 * rank + axis] + way[axis]);
  }

  #overlay(context, lens) {
    const { app } = this;
    if (!this.surface) return;
    const ends = (pairs) =>
      pairs.map(({ from, to, bytes, colour }) => [this.middle(from), this.middle(to), bytes, colour]);
    if (app.layers.messages) drawMessages(context, lens, ends(app.messages), SIDEWAYS);
    const seen = (isOne) =>
      this.#edgesOf(isOne).map((ends) => ends.map((end) => lens.pixel(...end))).filter(([a, b]) => a && b);
    if (app.beyond) drawThin(context, seen((rank) => app.beyond.has(rank)));
    if (app.chosen === null) return;
    drawMessages(context, lens, ends(app.partners), SIDEWAYS);
    drawOutline(context, seen((rank) => rank === app.chosen), 0.6);
  }

  /** The edges of the pieces of some ranks, as pairs of points. */
  #edgesOf(isOne) {
    const segments = [];
    const point = (n) => this.edges.points.subarray(3 * n, 3 * n + 3);
    eachLine(this.edges.lines, (a, b, line) => {
      if (isOne(this.edges.owners[line])) segments.push([point(a), point(b)]);
    });
    return segments;
  }
}

/** Calls back with both points of each segment of lines [n, p0, p1, ..] and the number of the line. */
function eachLine(lines, callback) {
  for (let at = 0, line = 0; at < lines.length; at += lines[at] + 1, line += 1) {
    for (let n = at + 1; n < at + lines[at]; n += 1) callback(lines[n], lines[n + 1], line);
  }
}
