// SPDX-License-Identifier: BSD-3-Clause
// Both pictures in their cards, with their tools; a sentence takes the place of one that cannot be drawn.

import { Latest, ServerError } from './api.js';
import { Colours } from './colours.js';
import * as data from './data.js';
import { cutMenu } from './cut.js';
import { all } from './elements.js';
import { drawLegend, make } from './legend.js';
import { MachinePicture } from './machine.js';
import { MeshPicture } from './mesh.js';
import { inWords } from './units.js';
import { View3d } from './view3d.js';

const LAYERS = {
  planes: 'nodes',
  machine: 'parts of the machine',
  measurements: 'values',
  labels: 'letters',
};

let known = null;

/** What draws in 3-D, or {reason} why nothing does. Both take time, so whoever will need it asks early. */
export function library() {
  const found = () => (View3d.possible() ? data.library() : { reason: 'This browser cannot draw in 3-D: it has no WebGL.' });
  return (known ??= Promise.resolve(found()));
}

export class Pictures {
  vtk = null; // the library, or {reason}

  constructor(app) {
    this.app = app;
    this.mesh = this.machine = null;
    this.wantsMesh = false; // of many ranks, only on request
    this.latestCut = new Latest();
  }

  /** Loads what the run has: the machine first, as it is small. */
  async load() {
    const { run } = this.app;
    const mesh = () => this.#loadMesh(run.mesh.reason);
    if (run.mesh.late) this.app.try(mesh().then(() => this.app.set({ own: this.app.own })));
    await Promise.all([this.#loadMachine(), run.mesh.late ? null : mesh()]);
  }

  async #loadMachine() {
    if (this.machine) return;
    const card = new Card('machine');
    const { reason } = this.app.run.machine;
    if (reason) return card.instead(reason);
    const picture = new MachinePicture(card.stage(), this.app);
    try {
      await picture.load();
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      return card.instead(error.message);
    }
    this.machine = picture;
    const layers = [...picture.layers.keys()].map((name) => [name, LAYERS[name] ?? name, true]);
    card.tools(picture, layersMenu(this.app, [...layers, ['messages', 'messages of the step', false]]));
    const { view } = picture;
    view.onPick = (x, y) => this.app.set({ rank: picture.rankAt(picture.at(x, y)) });
    view.onHover = (x, y, event) => {
      const hit = x === null ? null : picture.at(x, y);
      this.app.tip(hit && event, hit ? this.#machineWords(hit) : []);
    };
    card.notes(picture.machine.notes ?? []);
  }

  #machineWords(hit) {
    const part = this.machine.partAt(hit);
    if (!part) {
      const rank = this.machine.rankAt(hit);
      return rank === null ? [''] : this.app.rankWords(rank);
    }
    const { about } = this.app;
    const of = `${part.nRanks.toLocaleString('en')} ${part.nRanks === 1 ? 'rank' : 'ranks'}`;
    const what = `${part.joined} of ${of}`;
    if (part.value === undefined) return [part.name, 'no rank here'];
    return [part.name, `${about.title}: ${inWords(part.value, about.unit)}`, what];
  }

  async #loadMesh(reason) {
    const { app } = this;
    if (this.mesh) return;
    const card = new Card('mesh');
    if (reason) return card.instead(reason);
    if (app.run.many_ranks && !this.wantsMesh) {
      const button = make('button', '', 'Load the mesh');
      button.addEventListener('click', () => {
        this.wantsMesh = true;
        button.disabled = true;
        app.try(this.#loadMesh().then(() => app.set({ frame: app.frame })));
      });
      return card.instead(`The mesh of ${app.run.n_ranks.toLocaleString('en')} ranks may be large.`, button);
    }
    const version = app.run.frames.mesh_version[app.frame] ?? app.run.mesh.versions[0];
    const needed = new AbortController();
    const sent = data.mesh(version, needed.signal); // while the library is read
    sent.catch(() => {}); // `load` reports it
    this.vtk ??= await library();
    if (this.vtk.reason) {
      needed.abort();
      return card.instead(this.vtk.reason);
    }
    const picture = new MeshPicture(this.vtk, card.stage(), app);
    if (app.run.mesh.late) card.notes(['Ranks are being placed by their messages ...']);
    try {
      await picture.load(version, undefined, sent);
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      return card.instead(error.message);
    }
    this.mesh = picture;
    card.notes([picture.mesh.way, ...picture.mesh.notes]);
    card.tools(picture, ...this.#meshTools());
    picture.view.onPick = (hit) => app.set({ rank: picture.rankAt(hit) });
    picture.view.onHover = (hit, event) =>
      app.tip(hit && event, hit ? app.rankWords(picture.rankAt(hit)) : []);
  }

  #meshTools() {
    const { app } = this;
    this.own = make('select');
    this.own.id = 'own';
    this.own.setAttribute('aria-label', 'colours of the mesh');
    this.own.addEventListener('change', () => app.set({ own: this.own.value || null }));
    this.offerOwn();
    const tools = [this.own];
    if (app.run.n_ranks > 1) {
      const apart = make('input');
      Object.assign(apart, { type: 'range', min: 0, max: 1, step: 0.05, value: this.mesh.apart });
      apart.addEventListener('input', () => {
        for (const mesh of this.meshes) {
          mesh.explode(Number(apart.value));
          mesh.view.draw();
        }
      });
      const label = make('label', '', 'apart ');
      label.title = 'moves the pieces of the mesh apart';
      label.append(apart);
      tools.push(label);
    }
    this.cutMenu = cutMenu(app);
    tools.push(
      this.cutMenu.element,
      layersMenu(app, [
        ['edges', 'edges of pieces', app.layers.edges],
        ['cells', 'edges of cells', app.layers.cells],
        ['clear', 'see through all but the chosen', Boolean(app.layers.clear)],
        ['messages', 'messages of the step', false],
      ]),
    );
    return tools;
  }

  /** The simulation's own fields: those that ranks stored, or those of files. */
  get ownFields() {
    const { own_fields: stored } = this.app.run;
    return stored.length ? stored : (this.mesh?.mesh.own_fields ?? []);
  }

  /** Offers the simulation's own fields, some of which may appear late. */
  offerOwn() {
    const { app, own } = this;
    const fields = this.ownFields;
    if (!own || own.options.length === fields.length + 1) return;
    own.replaceChildren(
      new Option('field above', ''),
      ...fields.map(({ name, title }) => new Option(title, name)),
    );
    own.value = app.own ?? '';
    own.hidden = !fields.length;
  }

  /** Fetches what a frame needs beside the values of ranks: another mesh, or the simulation's own field. */
  async prepare(frame, signal) {
    const { app } = this;
    if (!this.mesh) return;
    const version = app.run.frames.mesh_version[frame];
    if (version !== null && version !== undefined) await this.mesh.load(version, signal);
    this.ownValues = app.own === null ? null : await this.#own(frame, signal);
    const isShown = this.ownValues && !this.ownValues.absent;
    await this.mesh.show(isShown ? { field: app.own, frame } : null, signal);
  }

  /** The simulation's own field in a frame; where it has none, a message reports it, and the mesh is grey. */
  async #own(frame, signal) {
    try {
      return await data.own(this.app.own, frame, signal);
    } catch (error) {
      if (!error.isAnswer) throw error;
      this.app.say(error.message);
      return { absent: true };
    }
  }

  /** Colours both pictures. values : of all ranks. */
  paint(values, colours) {
    const { app } = this;
    this.painted = [values, colours];
    this.machine?.paint(values, colours);
    if (this.mesh) {
      const card = new Card('mesh');
      if (this.ownValues?.absent) {
        this.mesh.paint(colours.of(new Float32Array(values.length).fill(NaN)));
        card.legend(null);
      } else if (this.ownValues) {
        const own = {
          unit: '',
          ...this.ownFields.find(({ name }) => name === app.own),
          ...this.ownValues,
        };
        const ownColours = new Colours(own, app.run.palette);
        this.mesh.paintOwn(this.ownValues.arrays.values, this.ownValues.association, ownColours);
        card.legend(own, ownColours);
      } else {
        this.mesh.paint(colours.of(values));
        card.legend(null);
      }
    }
    this.draw();
    app.compared.paint(values, colours);
  }

  /** All pictures of the mesh: the one of the card, and those that it is compared with. */
  get meshes() {
    return [this.mesh, ...this.app.compared.meshes].filter(Boolean);
  }

  /** All pictures. */
  get all() {
    return [...this.meshes, this.machine, ...this.app.compared.machines].filter(Boolean);
  }

  setLayer(name, isOn) {
    for (const picture of this.all) picture.setLayer(name, isOn);
  }

  /** Cuts the mesh as `app.cut` says. */
  async cut() {
    const { app } = this;
    this.cutMenu?.show(app.cut);
    await this.latestCut.run((signal) => Promise.all(this.meshes.map((mesh) => mesh.cut(app.cut, signal))));
    if (this.painted) this.paint(...this.painted);
  }

  draw() {
    for (const { view } of this.all) view.draw();
  }

  /** Shows which rank is chosen. */
  mark() {
    const { chosen } = this.app;
    const words = chosen === null ? '' : this.app.rankWords(chosen).slice(0, 2).filter(Boolean).join(' on ');
    for (const name of document.querySelectorAll('.chosen-name')) name.textContent = words;
    if (this.painted) this.paint(...this.painted);
  }

  /** Takes the background of the page. */
  recolour() {
    for (const { view } of this.meshes) view.recolour();
  }

  drawOverlays() {
    for (const { view } of this.all) view.drawOverlay();
  }

  /** Turns both pictures back to where they began. */
  reset() {
    this.mesh?.look();
    this.machine?.look();
  }
}

/** One card of the page that holds a picture. */
class Card {
  constructor(id) {
    this.element = document.getElementById(id);
    this.place = this.element.querySelector('.stage');
  }

  /** An empty element to draw in. */
  stage() {
    const stage = make('div', 'stage pane');
    this.place.replaceChildren(stage);
    return stage;
  }

  /** A sentence, and perhaps a button, in the place of the picture. */
  instead(sentence, ...more) {
    this.notes([]);
    const box = make('div', 'instead');
    box.append(make('p', '', sentence[0].toUpperCase() + sentence.slice(1)), ...more);
    this.place.replaceChildren(box);
  }

  tools(picture, ...tools) {
    const turn = make('button', '', 'Reset');
    turn.title = 'turn the picture back (R)';
    turn.addEventListener('click', () => picture.look());
    this.element.querySelector('.tools').replaceChildren(...tools, turn);
  }

  /** Sentences below the picture. */
  notes(sentences) {
    const known = sentences.filter(Boolean);
    const box =
      this.element.querySelector('.picture-notes') ?? this.element.appendChild(make('div', 'picture-notes'));
    box.hidden = !known.length;
    box.replaceChildren(...known.map((sentence) => make('p', '', sentence)));
  }

  legend(about, colours) {
    let legend = this.place.querySelector('.own-legend');
    if (!about) return legend?.remove();
    legend ??= this.place.appendChild(make('div', 'own-legend legend'));
    drawLegend(legend, about, colours);
    legend.prepend(make('span', '', about.title));
  }
}

/** A menu of layers to switch on and off: [name, words, whether it is on]. */
function layersMenu(app, layers) {
  const menu = make('details', 'layers');
  const list = make('div');
  for (const [name, words, isOn] of layers) {
    const box = make('input');
    box.type = 'checkbox';
    box.checked = isOn;
    box.dataset.layer = name;
    box.addEventListener('change', () => {
      for (const other of all(`[data-layer="${name}"]`)) other.checked = box.checked;
      app.setLayer(name, box.checked);
    });
    const label = make('label');
    label.append(box, words);
    list.append(label);
  }
  menu.append(make('summary', '', 'Layers'), list);
  document.addEventListener('pointerdown', (event) => menu.contains(event.target) || (menu.open = false));
  return menu;
}
