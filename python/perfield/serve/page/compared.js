// SPDX-License-Identifier: BSD-3-Clause
// Two steps of a run, or a step of two runs, side by side, and what changed: three panes in each picture.

import { Latest } from './api.js';
import { Colours } from './colours.js';
import * as data from './data.js';
import { get } from './elements.js';
import { drawLegend, make } from './legend.js';
import { link } from './linked.js';
import { MachinePicture } from './machine.js';
import { MeshPicture } from './mesh.js';
import { inWords } from './units.js';
import { Values } from './values.js';

const CHANGES = 'RdBu_r'; // zero is white
const ASK_MS = 400; // after the last choice, whether it is chance
const OTHER = 'other/';

/** The sides `before` and `change` are as the app itself, but for their run, values and lines of messages. */
export class Compared {
  constructor(app) {
    this.app = app;
    this.isOn = false;
    this.wanted = null; // the frame of this run that is compared with, where there is no other run
    this.panes = {}; // of 'mesh' and 'machine'
    this.latest = new Latest();
    this.before = Object.assign(Object.create(app), { shown: null, messages: [], partners: [] });
    this.change = Object.assign(Object.create(this.before), { isChange: true, beyond: null });
    this.change.rankWords = (rank) => this.#words(rank);
    get('with').addEventListener('input', () => app.set({ beside: Number(get('with').value) }));
    get('with-mean').addEventListener('click', () => app.setPart([0, app.run.n_frames], app.ranks));
    get('with-end').addEventListener('click', () => app.set({ beside: null }));
    get('compare-on').addEventListener('click', () => this.toggle());
  }

  /** Whether another run is beside this one. */
  get isOther() {
    return Boolean(this.app.run.other);
  }

  get meshes() {
    return this.isOn ? (this.panes.mesh?.pictures ?? []) : [];
  }

  get machines() {
    return this.isOn ? (this.panes.machine?.pictures ?? []) : [];
  }

  /** Begins, with an ordinary step of this run unless it is the one that is shown, or ends. */
  toggle() {
    const { frame, run } = this.app;
    const usual = run.first_frame === frame ? Math.max(frame - 1, 0) : run.first_frame;
    this.app.set({ beside: this.isOn ? null : usual });
  }

  /** Compares with a frame so many later. */
  move(by) {
    const { run } = this.app;
    if (this.isOn) this.app.set({ beside: Math.min(Math.max(this.wanted + by, 0), run.n_frames - 1) });
    else this.toggle();
  }

  /** Compares with a frame of this run, or with the other run, whose frame is that of the same step; null: with
   * none. */
  async show(frame) {
    const { app } = this;
    this.isOn = frame !== null && app.about !== null && app.run.n_frames > 0;
    this.wanted = this.isOn ? Math.min(frame, app.run.n_frames - 1) : null;
    document.body.classList.toggle('is-compared', this.isOn);
    get('compare').hidden = !this.isOn;
    for (const { place, added } of Object.values(this.panes)) {
      place.classList.toggle('panes', this.isOn);
      for (const pane of added) pane.hidden = !this.isOn;
    }
    if (!this.isOn) return;
    if (this.isOther && !this.before.of) {
      this.before.run = await data.run(undefined, undefined, OTHER);
      this.before.of = OTHER;
      this.before.values = new Values(this.before.run, OTHER);
    }
  }

  /** The frames that are compared with: the first, and the one behind the last; null for none. */
  get span() {
    const { app, before } = this;
    if (!this.isOther) return [this.wanted, this.wanted + 1];
    const { step } = before.run.frames;
    const at = (frame) => step.indexOf(app.run.frames.step[frame]);
    if (!app.average) return at(app.frame) < 0 ? null : [at(app.frame), at(app.frame) + 1];
    const labels = app.run.frames.step.slice(...app.span);
    const found = labels.map((label) => step.indexOf(label)).filter((one) => one >= 0);
    return found.length ? [Math.min(...found), Math.max(...found) + 1] : null;
  }

  /** The scale of a field that holds both runs; null where it is that of one. */
  scale({ name, scale }) {
    const other = this.isOn && this.isOther ? this.before.run.fields.find((one) => one.name === name)?.scale : null;
    return scale && other ? [Math.min(scale[0], other[0]), Math.max(scale[1], other[1])] : null;
  }

  /** Fetches what is compared with. */
  async prepare(signal) {
    if (!this.isOn) return;
    const { before, app, span } = this;
    const { name } = app.about;
    const isKnown = span && before.run.fields.some((one) => one.name === name);
    const values = !isKnown
      ? new Float32Array(before.run.n_ranks).fill(NaN)
      : span[1] - span[0] === 1
        ? await before.values.at(name, span[0], signal)
        : await before.values.mean(name, ...span, signal);
    await this.#load(span?.[0] ?? 0, signal);
    before.shown = values;
  }

  /** Makes the panes of pictures that are there, and takes the mesh of each step. */
  async #load(frame, signal) {
    const { pictures } = this.app;
    for (const kind of ['mesh', 'machine']) {
      if (pictures[kind] && this.panes[kind]?.first !== pictures[kind]) this.panes[kind] = this.#pane(kind);
    }
    await Promise.all(Object.values(this.panes).map(({ made }) => made));
    const [before, change] = this.meshes;
    const { mesh } = pictures;
    const version = this.before.run.frames.mesh_version[frame];
    if (before && version !== null && version !== undefined) await before.load(version, signal);
    if (change) await change.load(mesh.version, signal);
    for (const one of this.meshes) if (one.apart !== mesh.apart) one.explode(mesh.apart);
  }

  #pane(kind) {
    const { app } = this;
    const first = app.pictures[kind];
    const place = document.querySelector(`#${kind} > .stage`);
    place.classList.add('panes');
    const isAlike = this.before.run.n_ranks === app.run.n_ranks;
    const sides = isAlike ? [this.before, this.change] : [this.before];
    const added = [];
    const pictures = sides.map((side) => {
      const stage = place.appendChild(make('div', 'stage pane'));
      added.push(stage);
      const picture = kind === 'mesh' ? new MeshPicture(app.pictures.vtk, stage, side) : new MachinePicture(stage, side);
      const { view } = picture;
      const rankAt = (...at) =>
        picture instanceof MeshPicture ? picture.rankAt(at[0]) : picture.rankAt(picture.at(at[0], at[1]));
      view.onPick = (...at) => app.set({ rank: rankAt(...at) });
      view.onHover = (...at) => {
        const rank = at[0] === null ? null : rankAt(...at.slice(0, -1));
        app.tip(rank === null ? null : at.at(-1), rank === null ? [] : side.rankWords(rank));
      };
      return picture;
    });
    if (!isAlike) {
      const words = `The runs have ${app.run.n_ranks} and ${this.before.run.n_ranks} ranks, so no rank has a change.`;
      added.push(place.appendChild(make('div', 'stage pane instead', words)));
    }
    for (const stage of [first.view.stage, ...added]) stage.append(make('div', 'pane-name'));
    const load = async (picture, side) => {
      picture.view.resize(); // all panes are there now
      if (kind === 'machine') return picture.load();
      const { versions } = side.run.mesh;
      return versions ? picture.load(side.run.frames.mesh_version[0] ?? versions[0]) : null;
    };
    const made = Promise.all(pictures.map((picture, n) => load(picture, sides[n]))).then(() =>
      link([first, ...pictures].map(({ view }) => view)),
    );
    return { first, place, added, pictures, made };
  }

  /** Draws the panes. colours : of the field. */
  paint(values, colours) {
    if (!this.isOn || !this.before.shown) return;
    const { before, change, app } = this;
    const isAlike = before.shown.length === values.length;
    change.shown = isAlike ? values.map((value, rank) => value - before.shown[rank]) : null;
    const most = change.shown?.reduce((max, one) => Math.max(max, Number.isNaN(one) ? 0 : Math.abs(one)), 0) || colours.high;
    const scale = [-most, most];
    const about = { ...app.about, title: `change of ${app.about.title}`, map: CHANGES, scale, range: scale };
    const ofChange = new Colours(about, app.run.palette);
    for (const [one, other] of [this.meshes, this.machines]) {
      const isMesh = one instanceof MeshPicture;
      one?.paint(isMesh ? colours.of(before.shown) : before.shown, colours);
      if (change.shown) other?.paint(isMesh ? ofChange.of(change.shown) : change.shown, ofChange);
      one?.view.draw();
      other?.view.draw();
    }
    this.#name(about, ofChange);
    clearTimeout(this.later);
    change.beyond = null;
    this.later = setTimeout(() => app.try(this.#chance()), ASK_MS);
  }

  /** Writes what each pane shows. */
  #name(about, colours) {
    const { app, before, span } = this;
    const { frames } = before.run;
    const steps = !span
      ? 'no such step'
      : span[1] - span[0] === 1
        ? frames.title[span[0]]
        : `mean of steps ${frames.step[span[0]]} to ${frames.step[span[1] - 1]}`;
    const names = this.isOther ? [`${app.run.name}: `, `${app.run.other}: `] : ['', ''];
    const [low, high] = [colours.low, colours.high].map((end) => inWords(end, about.unit));
    const change = this.change.shown ? `change: blue ${low} to red ${high}` : 'change';
    const words = [`${names[0]}${app.stepWords(app.frame)}`, `${names[1]}${steps}`, change];
    for (const { place } of Object.values(this.panes)) {
      place.querySelectorAll('.pane-name').forEach((one, n) => (one.textContent = words[n]));
    }
    drawLegend(get('change'), about, colours);
    get('change').prepend(make('span', 'legend-unit', 'change'));
    get('change').hidden = !this.change.shown;
    get('with-name').textContent = this.isOther ? `compared with ${app.run.other}` : 'compared with';
    for (const id of ['with', 'with-words']) get(id).hidden = this.isOther;
    Object.assign(get('with'), { max: app.run.n_frames - 1, value: this.wanted });
    get('with-words').textContent = steps;
    get('with-mean').hidden = !this.isOther || app.run.n_frames < 2;
  }

  /** Asks whether the change is more than chance, and marks the ranks for which it is. */
  async #chance() {
    const { app, before } = this;
    get('chance').textContent = '';
    const isWhole = this.isOther && !app.average; // a single step of each run cannot tell
    const spans = isWhole
      ? [before, app].map(({ run }) => [0, run.n_frames])
      : [this.span, app.average ? app.span : [app.frame, app.frame + 1]];
    if (data.isFile() || !spans[0] || app.run.live) return;
    const said = await this.latest.run((signal) => data.compare(...spans, signal));
    if (!said || !this.isOn) return;
    get('chance').textContent = isWhole ? `Over all steps: ${said.words}` : said.words;
    get('chance').title = [said.words, ...said.notes].join('\n');
    const isShown = said.field === app.about.name && !isWhole && said.ranks.length > 0;
    this.change.beyond = isShown ? new Set(said.ranks) : null;
    for (const one of [...this.meshes, ...this.machines]) one.view.drawOverlay();
  }

  #words(rank) {
    const { app, before, change } = this;
    const { unit } = app.about;
    const value = change.shown?.[rank];
    const sign = value > 0 ? '+' : '';
    const isBeyond = change.beyond?.has(rank) ? ', more than chance' : '';
    return [
      `rank ${rank}`,
      `left: ${inWords(app.shownValue(rank), unit)}`,
      `right: ${inWords(before.shownValue(rank), unit)}`,
      `change: ${sign}${inWords(value, unit)}${isBeyond}`,
    ];
  }
}
