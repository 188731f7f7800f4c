// SPDX-License-Identifier: BSD-3-Clause
// The page of `perfield serve`: one run, in two pictures, a heat map and a matrix, which all follow one choice
// of field, step and rank. `App` holds the choice; whoever changes it calls `app.set({field, frame, rank, ...})`.

import { Latest, ServerError, onProgress } from './api.js';
import { Colours } from './colours.js';
import { Compared } from './compared.js';
import { Controls } from './controls.js';
import { cutWords, parsedCut } from './cut.js';
import * as data from './data.js';
import { all, get } from './elements.js';
import { Findings, openReport } from './findings.js';
import { HeatMap } from './heatmap.js';
import { drawHistogram } from './histogram.js';
import { Keys } from './keys.js';
import { drawLegend, make } from './legend.js';
import { addMenu } from './menu.js';
import { CHOSEN, RECEIVED } from './marks.js';
import { Matrix } from './matrix.js';
import { Panel } from './panel.js';
import { Pictures, library } from './pictures.js';
import { asRanges, fromAddress, fromRanges, toAddress } from './state.js';
import { Timeline } from './timeline.js';
import { onTheme } from './theme.js';
import { inWords } from './units.js';
import { Values } from './values.js';

const POLL_MS = 1000;
const MOST_LINES = 200; // of messages in a picture, as in pictures of ParaView

class App {
  constructor(run) {
    this.run = run;
    this.chosen = null; // the rank
    this.frame = 0;
    this.about = null; // the field
    this.learned = new Map(); // range and scale of computed fields, by name
    this.ends = new Map(); // of colours that the reader chose, by name of the field
    this.cut = null; // of the mesh, as cut.js says
    this.own = null; // the simulation's own field that colours the mesh instead
    this.values = new Values(run);
    this.span = null; // first frame and the one behind the last of a part of the run
    this.ranks = null; // a Set of the part's ranks; null for all
    this.average = false; // the mean over `span` is shown, not a step
    this.shown = null; // values of all ranks, as drawn
    this.drawn = null; // a promise: what was set last is drawn
    this.messages = []; // lines of this step
    this.partners = []; // lines of the chosen rank
    this.layers = { messages: false, edges: true };
    this.latest = { frame: new Latest(), messages: new Latest(), rank: new Latest() };
    this.controls = new Controls(this);
    this.findings = new Findings(this);
    this.panel = new Panel(get('panel'), this);
    this.heat = new HeatMap(document.querySelector('#heat .stage'), this);
    this.matrix = new Matrix(document.querySelector('#matrix .stage'), this);
    this.pictures = new Pictures(this);
    this.compared = new Compared(this);
    this.timeline = new Timeline(get('timeline'), this);
    for (const card of document.querySelectorAll('main > section:not(#timeline)')) addMenu(card, this);
    this.keys = new Keys(this);
    onTheme(() => this.#redraw());
    window.addEventListener('hashchange', () => this.#goTo(fromAddress()));
  }

  /** The newest frame that all ranks have delivered, as far as any frame has. */
  get newest() {
    const { n_present: present } = this.run.frames;
    return Math.max(0, present.lastIndexOf(Math.max(...present)));
  }

  /** Shows what the address asks for, or what the run offers first. */
  async start() {
    const wanted = fromAddress();
    const { run } = this;
    this.own = wanted.own ?? null;
    this.cut = parsedCut(wanted.cut);
    this.about = this.field(wanted.field) ?? this.field(run.first_field) ?? run.fields[0] ?? null;
    const byStep = run.frames.step.indexOf(wanted.step);
    if (wanted.ends && wanted.field === this.about?.name) this.ends.set(wanted.field, wanted.ends);
    const frame = wanted.frame ?? (byStep >= 0 ? byStep : null);
    this.follow = run.live && frame === null;
    const first = run.live ? this.newest : run.first_frame;
    this.frame = Math.max(0, Math.min(frame ?? first, run.n_frames - 1));
    if (wanted.rank < run.n_ranks) this.chosen = wanted.rank;
    this.#takePart(wanted);
    this.#head();
    get('report').addEventListener('click', () => openReport(this));
    this.controls.fill();
    this.timeline.offer();
    this.panel.showRun();
    await Promise.all([
      this.try(this.pictures.load()).then(() => this.#checkOwn()),
      this.about && run.n_frames ? this.try(this.values.at(this.about.name, this.frame)) : null,
    ]);
    await this.try(this.#showField());
    if (this.chosen !== null) this.#choose(this.chosen);
    const beside = wanted.with ?? (run.other ? 0 : null);
    if (beside !== null) await this.try(this.#compare(beside));
    if (wanted.inside) this.try(this.timeline.turn(true));
    document.body.dataset.ready = 'true';
    performance.mark('usable');
    this.#showAll();
    this.findings.load();
    this.#poll();
  }

  /** Forgets an own field of the address that the mesh has not. */
  #checkOwn() {
    if (this.pictures.ownFields.some(({ name }) => name === this.own)) return;
    this.own = null;
    this.controls.update();
  }

  /** Changes any of frame, field, own, rank, follow, beside (the frame that is compared with; null: none), cut,
   * inside (whether the inside of the step is shown); unknown values are ignored.
   * @param {Record<string, any>} choice */
  set({ frame, field, own, rank, follow, beside, cut, inside }) {
    if (follow !== undefined) {
      this.follow = follow;
      if (follow) frame = this.newest;
    } else if (frame !== undefined && frame < this.newest) this.follow = false;
    const about = field === undefined ? this.about : (this.field(field) ?? this.about);
    const wasField = this.about;
    this.about = about;
    if (own !== undefined) this.own = own;
    if (frame !== undefined && !this.isGoing) this.average = false;
    if (frame !== undefined) this.frame = Math.min(Math.max(frame, 0), this.run.n_frames - 1);
    if (rank !== undefined && rank !== this.chosen) this.#choose(rank);
    if (cut !== undefined && cutWords(cut) !== cutWords(this.cut)) {
      this.cut = cut;
      this.drawn = this.try(this.pictures.cut());
    }
    if (inside !== undefined && inside !== this.timeline.isOn) this.try(this.timeline.turn(inside));
    if (beside !== undefined && beside !== this.compared.wanted) this.drawn = this.try(this.#compare(beside));
    if (about !== wasField) {
      this.drawn = this.try(this.#showField());
      this.#showHeat();
    } else if (frame !== undefined || own !== undefined) this.drawn = this.try(this.#showFrame());
    this.controls.update();
    this.#remember();
  }

  async #compare(frame) {
    if (frame !== null) this.own = null; // values of ranks are compared
    await this.compared.show(frame);
    if (!this.about) return;
    this.#colour();
    this.heat.mark();
    await this.#showFrame();
    this.pictures.draw();
  }

  /** Switches a layer of a picture on or off. */
  setLayer(name, isOn) {
    this.layers[name] = isOn;
    this.pictures.setLayer(name, isOn);
    if (name === 'messages') this.try(this.#showMessages());
    else this.pictures.mark();
  }

  /** Switches a layer on if it is off, and off if it is on. */
  toggleLayer(name) {
    all(`[data-layer="${name}"]`)[0]?.click();
  }

  /** Follows an address that the reader typed, or goes back to. @param {Record<string, any>} address */
  #goTo({ ends = null, frame, step, rank = null, own = null, with: beside = null, cut, inside, ...wanted }) {
    this.isGoing = true; // Back makes no new entry
    const byStep = this.run.frames.step.indexOf(step);
    const before = JSON.stringify(this.part);
    this.#takePart(wanted);
    if (ends && wanted.field) this.ends.set(wanted.field, ends);
    const at = frame ?? (byStep >= 0 ? byStep : undefined);
    this.set({ ...wanted, rank, own, beside, cut: parsedCut(cut), inside: Boolean(inside), frame: at });
    if (this.about) this.setEnds(ends);
    if (JSON.stringify(this.part) !== before) this.#showPart();
    this.isGoing = false;
  }

  /** Draws everything in the colours of the page, which have changed. */
  #redraw() {
    this.pictures.recolour();
    if (this.shown) this.pictures.paint(this.shown, this.colours);
    this.heat.grid.draw();
    this.timeline.mark();
    this.try(this.matrix.show());
  }

  /** Shows an error as a sentence; the page continues. Returns what the promise gives, or undefined. */
  async try(promise) {
    try {
      return await promise;
    } catch (error) {
      if (error.name === 'AbortError') return undefined;
      if (!(error instanceof ServerError)) console.error(error);
      this.say(
        error instanceof ServerError ? error.message : `The page has an error of its own: ${error.message}`,
      );
      return undefined;
    }
  }

  say(sentence) {
    get('message').hidden = !sentence;
    if (sentence) get('message').firstElementChild.textContent = sentence;
  }

  /** Shows words beside the pointer; null hides them. lines : the first is the name. */
  tip(event, lines = []) {
    const tip = get('tip');
    tip.hidden = !event;
    if (!event) return;
    tip.replaceChildren(make('b', '', lines[0]), ...lines.slice(1).map((line) => make('div', '', line)));
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - width - 6)}px`;
    tip.style.top = `${Math.min(event.clientY + 16, window.innerHeight - height - 6)}px`;
  }

  field(name) {
    const about = this.run.fields.find((one) => one.name === name);
    return about && Object.assign(about, this.learned.get(name));
  }

  /** Takes the range and scale of a computed field, which come with its heat map. */
  learn(about, { range, scale }) {
    if (!range || JSON.stringify(range) === JSON.stringify(about.range)) return;
    this.learned.set(about.name, { range, scale });
    Object.assign(about, { range, scale });
    if (about === this.about) this.drawn = this.try(this.#showField());
  }

  /** A frame as a number on an axis, and in words. */
  stepName(frame) {
    const { step, kind } = this.run.frames;
    return kind[frame] === 'whole' ? 'whole run' : String(step[frame] ?? frame);
  }

  stepWords(frame) {
    if (this.average && frame === this.frame) return `mean of ${this.partWords()}`;
    return this.run.frames.title[frame] ?? '';
  }

  /** The steps of the part that is looked at, in words. */
  partWords() {
    const [from, to] = this.span;
    const [first, last] = [from, to - 1].map((frame) => this.stepName(frame));
    return first === last ? `step ${first}` : `steps ${first} to ${last}`;
  }

  /** Whether a rank is not the one, or not among those, that are looked at. */
  isFaded(rank) {
    return this.chosen === null ? this.ranks !== null && !this.ranks.has(rank) : rank !== this.chosen;
  }

  /** The value of a rank as it is drawn; null if it is not here. */
  shownValue(rank) {
    return this.shown?.[rank] ?? null;
  }

  /** The words on a rank beside the pointer. */
  rankWords(rank) {
    const { host, core } = this.run.ranks;
    const place = [host[rank], core[rank] === null ? '' : `core ${core[rank]}`].filter(Boolean).join(', ');
    return [`rank ${rank}`, place, `${this.about.title}: ${inWords(this.shownValue(rank), this.about.unit)}`];
  }

  /** Asks again what the server knows of the chosen rank. */
  async refreshRank(rank) {
    const rankData = await this.panel.show(rank);
    if (!rankData) return;
    this.partners = rankData.partners
      .flatMap(({ rank: other, sent, received, sent_count: out, received_count: back }) => [
        ...(out ? [{ from: rank, to: other, bytes: sent, colour: CHOSEN }] : []),
        ...(back ? [{ from: other, to: rank, bytes: received, colour: RECEIVED }] : []),
      ])
      .slice(0, MOST_LINES);
    this.pictures.drawOverlays();
  }

  #choose(rank) {
    this.chosen = rank;
    this.partners = [];
    this.heat.mark();
    this.matrix.mark();
    this.timeline.mark();
    this.pictures.mark();
    this.#histogram();
    if (rank === null) this.panel.clear();
    else this.try(this.refreshRank(rank));
  }

  async #showField() {
    if (!this.about) return;
    this.#colour();
    await this.#showFrame();
  }

  #colour() {
    const { about } = this;
    const ends = this.ends.get(about.name);
    const usual = this.compared.scale(about) ?? about.scale ?? about.range ?? [0, 1];
    this.colours = new Colours({ ...about, scale: ends ?? usual }, this.run.palette);
    const whole = [usual, ends ?? usual].reduce((a, b) => [Math.min(a[0], b[0]), Math.max(a[1], b[1])]);
    const change = {
      whole,
      isChanged: Boolean(ends),
      set: (wanted) => this.setEnds(wanted),
      ofStep: () => this.setEnds(this.rangeOfStep),
    };
    drawLegend(get('legend'), about, this.colours, change);
    this.ofBar = whole;
    this.#histogram();
  }

  #histogram() {
    if (!this.shown) return;
    const chosen = this.chosen === null ? null : this.shownValue(this.chosen);
    drawHistogram(document.querySelector('#legend .legend-bar'), this.shown, this.ofBar, chosen);
  }

  /** Chooses both ends of the colours; null for those of all steps. */
  setEnds(ends) {
    if (!this.about || !this.shown) return;
    if (ends) this.ends.set(this.about.name, ends);
    else this.ends.delete(this.about.name);
    this.#colour();
    this.pictures.paint(this.shown, this.colours);
    this.heat.recolour();
    this.#remember();
  }

  /** The least and the largest value of the step that is shown; null if they are the same. */
  get rangeOfStep() {
    const known = this.shown.filter((value) => !Number.isNaN(value));
    const range = known.reduce(
      ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
      [Infinity, -Infinity],
    );
    return range[0] < range[1] ? range : null;
  }

  /** Looks at a part of the run: frames [first, one behind the last] and a Set of ranks; null for all. Ranks
   * have their means over these frames, until a step is chosen. */
  setPart(span, ranks) {
    this.span = span && [span[0], Math.max(span[1], span[0] + 1)];
    this.ranks = ranks?.size ? ranks : null;
    this.average = this.span !== null;
    this.#showPart();
    this.#remember();
  }

  /** Takes the part of an address: steps "12-20", ranks "0-3,7", and whether their mean is shown.
   * @param {Record<string, any>} address */
  #takePart({ part, ranks, mean }) {
    const frames = fromRanges(part, this.run.n_frames);
    this.span = frames && [Math.min(...frames), Math.max(...frames) + 1];
    this.ranks = fromRanges(ranks, this.run.n_ranks);
    this.average = this.span !== null && mean !== undefined;
    get('all').hidden = this.span === null && this.ranks === null;
  }

  /** The part as an address has it. */
  get part() {
    const { span, ranks, average } = this;
    const part = span && `${span[0]}-${span[1] - 1}`;
    return { part, ranks: ranks && (asRanges(ranks) || null), mean: average ? 1 : null };
  }

  #showPart() {
    get('all').hidden = this.span === null && this.ranks === null;
    this.heat.recolour();
    this.timeline.mark();
    this.drawn = this.try(this.#showFrame());
    this.controls.update();
    this.try(this.matrix.show());
  }

  #remember() {
    const ends = this.ends.get(this.about?.name)?.map((end) => Number(end.toPrecision(6)));
    const { frame, about, own, chosen: rank } = this;
    const state = { frame, field: about?.name, own, rank, ends: ends?.join(' '), with: this.compared.wanted };
    Object.assign(state, this.part, { cut: cutWords(this.cut), inside: this.timeline.isOn ? 1 : null });
    toAddress(state, !this.isGoing && !this.controls.playing && !this.follow);
  }

  async #showFrame() {
    if (!this.about || !this.colours || this.run.n_frames === 0) return; // a mesh may come before the field
    const {
      frame,
      about: { name },
    } = this;
    const [values] =
      (await this.latest.frame.run((signal) =>
        Promise.all([
          this.average ? this.values.mean(name, ...this.span, signal) : this.values.at(name, frame, signal),
          this.pictures.prepare(frame, signal),
          this.compared.prepare(signal),
        ]),
      )) ?? [];
    if (!values) return; // another choice came meanwhile
    this.shown = values;
    const inside = this.try(this.timeline.show());
    this.pictures.paint(values, this.colours);
    this.#histogram();
    this.heat.mark();
    this.panel.step();
    if (this.layers.messages) this.try(this.#showMessages());
    this.values.ahead(name, frame);
    await inside;
  }

  async #showMessages() {
    this.messages = [];
    get('line-words').textContent = '';
    if (this.layers.messages && this.run.n_frames) {
      const { frame } = this;
      const found = await this.latest.messages.run((signal) => data.messages(frame, MOST_LINES, signal));
      if (!found) return;
      const { source, target, bytes } = found.arrays;
      get('line-words').textContent = found.in_words;
      const colour = `${this.run.palette.outline}cc`;
      this.messages = [...source].map((from, n) => ({ from, to: target[n], bytes: bytes[n], colour }));
    }
    this.pictures.drawOverlays();
  }

  #showHeat() {
    if (this.about && this.run.n_frames) this.try(this.heat.show(this.about));
  }

  #showAll() {
    this.#showHeat();
    if (this.run.n_frames) this.try(this.matrix.show());
  }

  #head() {
    const { run } = this;
    document.title = `${run.title}: ${run.name} - perfield`;
    get('run-name').textContent = run.title;
    const state = get('run-state');
    Object.assign(state, { hidden: false, textContent: run.state });
    state.classList.toggle('live', run.live);
    state.classList.toggle('bad', !run.live && run.state !== 'finished');
    const count = (n, name) => `${n.toLocaleString('en')} ${name}${n === 1 ? '' : 's'}`;
    const facts = [count(run.n_ranks, 'rank'), count(run.n_frames, 'frame')];
    if (run.title !== run.name) facts.push(run.name);
    get('run-facts').textContent = facts.join(', ');
  }

  /** Follows a running program, and a run whose frames the server has not all read yet. */
  async #poll() {
    const { run } = this;
    if (!run.live && run.surveyed >= run.n_frames) return;
    const now = await this.try(data.run(run.version));
    if (now && get('message').textContent.includes('server does not answer')) this.say('');
    // Its requests must end before the next look, which may have others in their place.
    if (now && !now.unchanged) await this.try(this.#grow(now));
    setTimeout(() => this.#poll(), POLL_MS);
  }

  async #grow(run) {
    const [before, wasEmpty] = [this.run, this.run.n_frames === 0];
    const drawn = JSON.stringify([this.about?.scale, this.about?.range, this.frame, before.n_frames]);
    this.run = run;
    this.values.update(run);
    this.about = this.field(this.about?.name) ?? this.field(run.first_field) ?? run.fields[0] ?? null;
    this.#head();
    this.controls.fill();
    this.timeline.offer();
    this.pictures.offerOwn();
    if (this.follow || wasEmpty) this.frame = this.newest;
    this.controls.update();
    if (this.chosen !== null && run.n_frames !== before.n_frames) this.try(this.refreshRank(this.chosen));
    if (this.chosen === null && run.notes.join() !== before.notes.join()) this.panel.showRun();
    if (run.n_frames !== before.n_frames) this.try(this.matrix.show());
    const isOther = ({ reason, late }) => reason !== before.mesh.reason || late !== before.mesh.late;
    if (isOther(run.mesh)) this.pictures.mesh = null; // boxes became a mesh
    if (run.machine.reason !== before.machine.reason || isOther(run.mesh)) {
      await this.try(this.pictures.load());
    }
    // While the server reads a long run, most updates are words.
    const now = JSON.stringify([this.about?.scale, this.about?.range, this.frame, run.n_frames]);
    if (now === drawn && !run.live) return;
    const shown = this.try(this.#showField()); // chooses the colours at once
    if (now !== drawn) this.#showHeat();
    await shown;
  }
}

/** Starts the page; without a run, its message says why. */
async function main() {
  const message = get('message');
  message.lastElementChild.addEventListener('click', () => (message.hidden = true));
  let late = null;
  onProgress(({ requests, bytes }) => {
    const words = bytes > 1e5 ? `loading ... ${(bytes / 1e6).toFixed(1)} MB` : 'loading ...';
    if (!requests) {
      clearTimeout(late);
      late = null;
      get('loading').textContent = '';
    } else if (late === null) late = setTimeout(() => (get('loading').textContent = words), 300);
    else if (get('loading').textContent) get('loading').textContent = words;
  });
  try {
    await data.open();
    document.body.classList.toggle('is-file', data.isFile());
    const run = data.run();
    run.catch(() => {}); // it is waited for below
    library(); // which the browser prepares while the server answers
    const app = new App(await run);
    Object.assign(window, { perfield: app }); // for whoever looks into the page from the browser's console
    await app.start();
  } catch (error) {
    if (!(error instanceof ServerError)) console.error(error);
    message.hidden = false;
    message.firstElementChild.textContent = error.message;
    document.body.dataset.ready = 'failed';
  }
}

main();
