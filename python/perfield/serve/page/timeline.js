// SPDX-License-Identifier: BSD-3-Clause
// Inside a logged step: when each rank computed, was in MPI and waited, for whom, and the chosen rank's messages.

import { Latest } from './api.js';
import * as data from './data.js';
import { get } from './elements.js';
import { Lanes } from './lanes.js';
import { make } from './legend.js';
import { CHOSEN, RECEIVED } from './marks.js';
import { addMenu, enlarge } from './menu.js';
import { ink } from './theme.js';
import { inWords } from './units.js';

// Colours of wait states, and of letters on them: Okabe and Ito's, without those of lines and of computing.
const KINDS = {
  'late sender': ['#d55e00', '#fff'],
  'late receiver': ['#e69f00', '#111'],
  barrier: ['#f0e442', '#111'],
  'n-to-n': ['#009e73', '#fff'],
  'late broadcast': ['#cc79a7', '#111'],
  'early reduce': ['#7a3b69', '#fff'],
  'late one-sided': ['#5b5b9d', '#fff'],
};
const ARROWS = { most: 60, least: 0.03 }; // the longest waits, and of the time that is shown
const MOST_LINES = 300; // messages, which nobody could tell apart

export class Timeline {
  menu = false; // whether it has one

  constructor(card, app) {
    this.card = card;
    this.app = app;
    this.isOn = false;
    this.sentences = [];
    this.latest = new Latest();
    const stage = card.querySelector('.stage');
    this.lanes = new Lanes(stage);
    this.instead = stage.appendChild(make('div', 'instead'));
    this.lanes.onPick = (row) => app.set({ rank: this.ranks[row] });
    this.lanes.onHover = (row, second, event) =>
      row === null ? app.tip(null) : app.tip(event, this.#words(this.ranks[row], second));
    this.lanes.onZoom = () => (get('timeline-all').hidden = this.lanes.isWhole);
    this.lanes.sentencesOf = () => [...this.sentences, ...this.#unseen()];
    this.lanes.linesOf = () => [...this.#messages(), ...this.#arrows()];
    this.lanes.canvas.addEventListener('keydown', (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!by || !this.found) return;
      event.preventDefault();
      const row = app.chosen === null ? 0 : this.ranks.indexOf(app.chosen) + by;
      app.set({ rank: this.ranks[Math.min(Math.max(row, 0), this.ranks.length - 1)] });
    });
    get('timeline-all').addEventListener('click', () => this.lanes.whole());
    get('inside').addEventListener('click', () => app.set({ inside: true }));
    get('timeline-end').addEventListener('click', () => app.set({ inside: false }));
    get('logged-before').addEventListener('click', () => this.go(-1));
    get('logged-after').addEventListener('click', () => this.go(1));
  }

  /** Offers itself where steps were logged. */
  offer() {
    get('inside').hidden = !this.app.run.logged.length;
  }

  /** Takes the place of the heat map, or gives it back. */
  turn(isOn) {
    if (isOn && !this.app.run.logged.length) {
      this.app.say(
        data.isFile()
          ? 'No step of this page has a time line: none was logged, or there was no room.'
          : 'No step of this run was logged, so nobody knows when calls were made; arrivals_every may have been 0.',
      );
    }
    this.isOn = isOn && this.app.run.logged.length > 0;
    this.menu ??= this.isOn && (addMenu(this.card, this.app), true);
    document.body.classList.toggle('is-inside', this.isOn);
    const [shown, other] = this.isOn ? [this.card, get('heat')] : [get('heat'), this.card];
    if (other.classList.contains('large')) enlarge(shown);
    return this.show();
  }

  /** Shows the next logged step, or the one before. */
  go(by) {
    const { logged } = this.app.run;
    const { frame } = this.app;
    const next = by > 0 ? logged.find((one) => one > frame) : logged.filter((one) => one < frame).at(-1);
    if (next !== undefined) this.app.set({ frame: next });
  }

  /** Fetches and draws the step that is shown. */
  async show() {
    if (!this.isOn) return;
    const { frame, run } = this.app;
    get('logged-before').disabled = !(run.logged[0] < frame);
    get('logged-after').disabled = !(run.logged.at(-1) > frame);
    if (!run.logged.includes(frame)) {
      this.#without(frame);
      return;
    }
    const found = await this.latest.run((signal) => data.timeline(frame, signal));
    if (!found) return;
    this.found = found;
    this.instead.hidden = true;
    this.lanes.canvas.hidden = false;
    this.sentences = [`${found.who} in step ${this.app.stepName(frame)}.`, found.left_out].filter(Boolean);
    this.lanes.canvas.setAttribute('aria-label', this.sentences.join(' '));
    this.mark(frame === this.frame);
    this.frame = frame;
  }

  /** Says why there is nothing, and leads to the nearest logged step. */
  #without(frame) {
    const { logged } = this.app.run;
    this.latest.run(async () => undefined); // ends what is under way
    [this.found, this.frame] = [null, null];
    this.lanes.clear();
    const near = logged.reduce((a, b) => (Math.abs(b - frame) < Math.abs(a - frame) ? b : a));
    const words = data.isFile() ? 'has no time line in this page' : 'was not logged, so nobody knows when its calls were made';
    const button = make('button', '', `Show step ${this.app.stepName(near)}`);
    button.addEventListener('click', () => this.app.set({ frame: near }));
    this.instead.replaceChildren(make('div', '', `Step ${this.app.stepName(frame)} ${words}.`), button);
    this.instead.hidden = false;
    this.lanes.canvas.hidden = true;
    get('timeline-all').hidden = true;
  }

  /** Draws the step anew: another rank or part is looked at. isSame : what is zoomed stays so. */
  mark(isSame = true) {
    if (!this.isOn || !this.found) return;
    const { ranks: part, chosen, run } = this.app;
    const all = [...this.found.arrays.rank];
    const some = all.filter((rank) => part === null || part.has(rank));
    const ranks = some.length ? some : all;
    const isOther = ranks.join() !== this.ranks?.join();
    this.ranks = ranks;
    this.rowOf = new Int32Array(run.n_ranks).fill(-1);
    ranks.forEach((rank, row) => (this.rowOf[rank] = row));
    const marked = chosen === null || this.rowOf[chosen] < 0 ? null : this.rowOf[chosen];
    const shown = { names: ranks.map(String), seconds: this.found.seconds, bars: this.#bars() };
    Object.assign(shown, { marked, bright: marked === null ? null : this.#partners(chosen) });
    this.lanes.show(shown, isSame && !isOther);
  }

  /** Bars of some calls or waits. indices : which of them. */
  #bar(name, indices, colour, words, more = {}) {
    const { arrays, tick_s: tick } = this.found;
    const [rank, begin, end] = [`${name}rank`, `${name}begin`, `${name}end`].map((column) => arrays[column]);
    const times = (of) => Float64Array.from(indices, (n) => of[n] * tick);
    const row = Int32Array.from(indices, (n) => this.rowOf[rank[n]]);
    return { colour, words, row, begin: times(begin), end: times(end), ...more };
  }

  #bars() {
    const { arrays, kinds } = this.found;
    const all = (column) => [...arrays[column].keys()];
    const waits = all('wait_rank');
    const bars = [
      this.#bar('', all('rank'), ink('--computes'), 'computing'),
      this.#bar('call_', all('call_rank'), ink('--in-mpi'), 'in MPI'),
    ];
    const unsure = waits.filter((n) => !arrays.wait_is_sure[n]);
    if (unsure.length) bars.push(this.#bar('wait_', unsure, ink('--unsure'), 'waiting, too short to say for whom'));
    kinds.forEach((kind, number) => {
      const some = waits.filter((n) => arrays.wait_is_sure[n] && arrays.wait_kind[n] === number);
      if (!some.length) return;
      const [colour, letters] = KINDS[kind];
      const words = bars.length > 2 ? kind : `waiting: ${kind}`;
      const text = (n) => this.#labels(some[n]);
      bars.push(this.#bar('wait_', some, colour, words, { ink: letters, text }));
    });
    return bars;
  }

  /** A wait in ever fewer words. */
  #labels(n) {
    const { wait_begin: begin, wait_end: end, wait_cause: cause } = this.found.arrays;
    const long = inWords((end[n] - begin[n]) * this.found.tick_s, 's');
    return cause[n] < 0 ? [long] : [`${long} for rank ${cause[n]}`, long];
  }

  /** The rows of a rank and of those with which it has to do. */
  #partners(rank) {
    const { arrays } = this.found;
    const rows = new Set([this.rowOf[rank]]);
    for (const [one, other] of [['wait_rank', 'wait_cause'], ['message_source', 'message_target']]) {
      arrays[one].forEach((first, n) => {
        const second = arrays[other][n];
        if (first === rank && second >= 0) rows.add(this.rowOf[second]);
        if (second === rank) rows.add(this.rowOf[first]);
      });
    }
    return rows;
  }

  /** The chosen rank's messages in sight, by their numbers. */
  #own() {
    const { chosen } = this.app;
    if (chosen === null) return [];
    const { message_source: source, message_target: target, message_sent: sent, message_received: got } =
      this.found.arrays;
    const [from, to] = this.lanes.times.map((time) => time / this.found.tick_s);
    const isOwn = (n) => source[n] === chosen || target[n] === chosen;
    const isHere = (n) => this.rowOf[source[n]] >= 0 && this.rowOf[target[n]] >= 0;
    return [...source.keys()].filter((n) => isOwn(n) && isHere(n) && got[n] >= from && sent[n] <= to);
  }

  /** Why the chosen rank's messages are not drawn, as one sentence or none. */
  #unseen() {
    const { length } = this.#own();
    if (length <= MOST_LINES) return [];
    return [`Zoom in to see the messages of rank ${this.app.chosen}: ${length.toLocaleString('en')} are here.`];
  }

  /** Lines of the chosen rank's messages. */
  #messages() {
    const { arrays, tick_s: tick } = this.found;
    const numbers = this.#own();
    if (numbers.length > MOST_LINES) return [];
    return numbers.map((n) => {
      const [source, target] = [arrays.message_source[n], arrays.message_target[n]];
      return {
        from: [this.rowOf[source], arrays.message_sent[n] * tick],
        to: [this.rowOf[target], arrays.message_received[n] * tick],
        colour: source === this.app.chosen ? CHOSEN : RECEIVED,
      };
    });
  }

  /** Arrows from what ended a wait to the rank that waited: of the chosen rank, or the longest. */
  #arrows() {
    const { arrays, tick_s: tick } = this.found;
    const { wait_rank: rank, wait_cause: cause, wait_begin: begin, wait_end: end } = arrays;
    const { chosen } = this.app;
    const [from, to] = this.lanes.times;
    const isDrawn = (n) =>
      arrays.wait_is_sure[n] &&
      arrays.wait_does[n] >= 0 &&
      this.rowOf[rank[n]] >= 0 &&
      this.rowOf[cause[n]] >= 0 &&
      (chosen === null || rank[n] === chosen || cause[n] === chosen) &&
      end[n] * tick >= from &&
      begin[n] * tick <= to &&
      (end[n] - begin[n]) * tick >= ARROWS.least * (to - from);
    return [...rank.keys()]
      .filter(isDrawn)
      .slice(0, ARROWS.most)
      .map((n) => ({
        from: [this.rowOf[cause[n]], arrays.wait_late[n] * tick],
        to: [this.rowOf[rank[n]], end[n] * tick],
        colour: ink('--ink'),
        isArrow: true,
      }));
  }

  /** What a rank did at a time. */
  #words(rank, second) {
    const { arrays, tick_s: tick, calls, kinds, does } = this.found;
    const at = (name, of) => {
      const [begin, end] = [arrays[`${name}_begin`], arrays[`${name}_end`]];
      return of.findIndex((each, n) => each === rank && begin[n] * tick <= second && second <= end[n] * tick);
    };
    const lasts = (name, n) => inWords((arrays[`${name}_end`][n] - arrays[`${name}_begin`][n]) * tick, 's');
    const lines = [`rank ${rank}, ${inWords(second, 's')} after the step began`];
    const wait = at('wait', arrays.wait_rank);
    const call = at('call', arrays.call_rank);
    if (wait >= 0) {
      const [cause, doing] = [arrays.wait_cause[wait], arrays.wait_does[wait]];
      const whom = cause >= 0 && arrays.wait_is_sure[wait] ? ` for rank ${cause}` : '';
      lines.push(`waits ${lasts('wait', wait)}${whom} (${kinds[arrays.wait_kind[wait]]})`);
      if (whom && doing >= 0) lines.push(`until rank ${cause} ${does[doing]}`);
    }
    if (call >= 0) {
      const verb = arrays.call_completes[call] ? 'completes' : 'in';
      lines.push(`${verb} ${calls[arrays.call_name[call]]} for ${lasts('call', call)}`);
    } else if (wait < 0) {
      const step = arrays.rank.indexOf(rank);
      const isInside = arrays.begin[step] * tick <= second && second <= arrays.end[step] * tick;
      lines.push(isInside ? 'computes: outside MPI' : 'is in another step');
    }
    return lines;
  }

  /** Calls, waits and messages as rows of a table. */
  table() {
    const { arrays, tick_s: tick, calls, kinds } = this.found ?? { arrays: null };
    const head = ['rank', 'what', 'begin_s', 'end_s', 'other_rank'];
    if (!arrays) return [head];
    const rows = (name, others) =>
      [...arrays[`${name}_rank`]].map((rank, n) => [
        rank, others(n)[0], arrays[`${name}_begin`][n] * tick, arrays[`${name}_end`][n] * tick, others(n)[1],
      ]);
    const messages = [...arrays.message_source].map((source, n) => [
      source, 'message to', arrays.message_sent[n] * tick, arrays.message_received[n] * tick, arrays.message_target[n],
    ]);
    const cause = (n) => (arrays.wait_cause[n] < 0 ? null : arrays.wait_cause[n]);
    return [
      head,
      ...rows('call', (n) => [calls[arrays.call_name[n]], null]),
      ...rows('wait', (n) => [`waiting: ${kinds[arrays.wait_kind[n]]}`, cause(n)]),
      ...messages,
    ];
  }
}
