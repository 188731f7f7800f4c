// SPDX-License-Identifier: BSD-3-Clause
// What a pick shows: where the rank sits, its numbers in the step, its partners, its regions over all steps.

import { Latest } from './api.js';
import { chart } from './chart.js';
import * as data from './data.js';
import { make } from './legend.js';
import { inWords } from './units.js';

const PARTNERS = 8; // shown before the rest is asked for
const REGIONS = 8;

export class Panel {
  constructor(element, app) {
    this.element = element;
    this.app = app;
    this.latest = new Latest();
    this.data = null;
  }

  /** Before anything is picked: what to do, and what the run itself has to say. */
  showRun() {
    const { run } = this.app;
    const help = make('p', 'hint', 'A click shows it. Or click a rank in a picture, heat map or matrix.');
    const parts = [this.#title('What costs time', null), help, this.app.findings.element];
    if (run.notes.length) {
      const list = make('ul', 'notes');
      list.append(...run.notes.map((note) => make('li', '', note)));
      parts.push(make('h3', '', 'About this run'), list);
    }
    this.data = null;
    this.element.replaceChildren(...parts);
  }

  /** Fetches and shows a rank; the numbers of the step follow at once. Returns what the server sent. */
  async show(rank) {
    if (this.rank !== rank || !this.data) {
      this.element.replaceChildren(this.#title(`Rank ${rank}`, rank), make('p', 'hint', 'loading ...'));
    }
    this.rank = rank;
    const found = await this.latest.run((signal) => data.rank(rank, signal));
    if (!found || this.app.chosen !== rank) return null;
    this.data = found;
    this.#fill(rank, found);
    return found;
  }

  /** Forgets the rank. */
  clear() {
    this.rank = null;
    this.showRun();
  }

  /** Follows the step that is shown. */
  step() {
    if (!this.data) return;
    this.#numbers();
    for (const element of this.element.querySelectorAll('.chart')) element.show(this.#at);
    for (const element of this.element.querySelectorAll('[data-series]')) this.#value(element);
  }

  /** Where the step that is shown is among the frames that came; of a long run not every frame comes. */
  get #at() {
    const { frames } = this.data;
    const later = frames.findIndex((frame) => frame > this.app.frame);
    return (later < 0 ? frames.length : later) - 1;
  }

  #title(text, rank) {
    const head = make('div', 'panel-head');
    head.append(make('h2', '', text));
    const input = make('input');
    Object.assign(input, { type: 'number', min: 0, max: this.app.run.n_ranks - 1, id: 'rank' });
    input.value = rank ?? '';
    input.placeholder = 'rank';
    input.setAttribute('aria-label', 'choose a rank by its number');
    input.addEventListener('change', () => {
      const number = input.value === '' ? null : Math.round(Number(input.value));
      this.app.set({
        rank: number === null ? null : Math.min(Math.max(number, 0), this.app.run.n_ranks - 1),
      });
    });
    head.append(input);
    if (rank !== null) {
      const close = make('button', 'plain', '×');
      close.setAttribute('aria-label', 'choose no rank, back to findings');
      close.title = 'back to findings (Esc)';
      close.addEventListener('click', () => this.app.set({ rank: null }));
      head.append(close);
    }
    return head;
  }

  #fill(rank, data) {
    const { ranks } = this.app.run;
    const facts = make('dl', 'facts');
    const fact = (name, text) =>
      text !== null &&
      text !== undefined &&
      text !== '' &&
      facts.append(make('dt', '', name), make('dd', '', String(text)));
    fact('host', ranks.host[rank]);
    fact('node', ranks.node[rank]);
    fact('package', ranks.package[rank]);
    fact('core', ranks.core[rank] ?? 'not bound to one');
    fact('PUs', ranks.pus[rank]);
    const numbers = make('dl', 'facts numbers');
    this.element.replaceChildren(
      this.#title(`Rank ${rank}`, rank),
      make('p', 'place', data.place),
      facts,
      make('h3', '', ''),
      numbers,
      make('h3', '', 'Partners, over all steps'),
      this.#partners(data),
      make('h3', '', 'Its regions over all steps'),
      this.#regions(data),
    );
    this.#numbers();
    for (const element of this.element.querySelectorAll('[data-series]')) this.#value(element);
  }

  #numbers() {
    const numbers = this.element.querySelector('.numbers');
    const at = this.#at;
    const frame = this.data.frames[at]; // the one that is shown, or the last one before it
    numbers.previousSibling.textContent = this.app.stepWords(frame);
    const rows = Object.entries(this.data.fields).map(([name, values]) => {
      const about = this.app.field(name);
      return [about?.title ?? name, inWords(values[at], about?.unit ?? '')];
    });
    const shown = this.app.shownValue(this.rank);
    const about = this.app.about;
    if (shown !== null && frame === this.app.frame && !(about.name in this.data.fields))
      rows.unshift([about.title, inWords(shown, about.unit)]);
    numbers.replaceChildren(
      ...rows.flatMap(([title, text]) => [make('dt', '', title), make('dd', '', text)]),
    );
  }

  #value(element) {
    element.textContent = inWords(this.data.regions.series[element.dataset.series][this.#at], 's');
  }

  #partners({ partners, more_partners: others, unknown }) {
    const whole = make('div');
    const hint = (words) => whole.append(make('p', 'hint', words));
    if (partners.length) this.#table(whole, partners);
    else hint('It exchanges no messages with other ranks.');
    if (others) hint(`${others.toLocaleString('en')} more with fewer bytes`);
    const [sent, received] = [unknown.sent, unknown.received].map((bytes) => inWords(bytes, 'B'));
    if (unknown.sent) hint(`${sent} sent to others that are not known`);
    if (unknown.received) hint(`${received} received from others that are not known`);
    return whole;
  }

  #table(whole, partners) {
    const table = make('table', 'partners');
    const head = table.createTHead().insertRow();
    head.append(
      make('th', '', 'rank'),
      make('th', 'sent', 'sent to'),
      make('th', 'received', 'received from'),
    );
    const most = Math.max(...partners.flatMap(({ sent, received }) => [sent, received]), 1);
    const body = table.createTBody();
    const add = (rows) => {
      for (const { rank, sent, received, sent_count: out, received_count: back } of rows) {
        const row = body.insertRow();
        const go = make('button', 'link', String(rank));
        go.addEventListener('click', () => this.app.set({ rank }));
        row.insertCell().append(go);
        row.append(bar('sent', sent, out, most), bar('received', received, back, most));
      }
    };
    add(partners.slice(0, PARTNERS));
    whole.append(table);
    const more = partners.length - PARTNERS;
    if (more > 0) {
      const button = make('button', 'link', `and ${more} more`);
      button.addEventListener('click', () => (add(partners.slice(PARTNERS)), button.remove()));
      whole.append(button);
    }
  }

  #regions({ frames, regions: { names, fields, series, left_out: leftOut } }) {
    const rows = fields.map((field, n) => [names[n], field, series[field]]);
    if (!rows.length) return make('p', 'hint', 'No regions were measured.');
    const high = Math.max(
      ...rows.map(([, , values]) => values.reduce((most, value) => Math.max(most, value ?? 0), 0)),
    );
    const whole = make('div', 'regions');
    const add = (some) => {
      for (const [name, field, values] of some) {
        const head = make('div', 'region-head');
        const value = make('span', 'region-value');
        value.dataset.series = field;
        head.append(make('span', '', name), value);
        whole.append(
          head,
          chart(values, high, this.#at, (at) => this.app.set({ frame: frames[at] }), `${name} over the steps`),
        );
        if (this.data) this.#value(value);
      }
    };
    add(rows.slice(0, REGIONS));
    if (rows.length > REGIONS) {
      const button = make('button', 'link', `and ${rows.length - REGIONS} more`);
      button.addEventListener('click', () => (button.remove(), add(rows.slice(REGIONS))));
      whole.append(button);
    }
    if (leftOut) whole.append(make('p', 'hint', `${leftOut.toLocaleString('en')} more with less time`));
    const what = fields.every((field) => field.endsWith('_compute_time_s')) ? 'computing, without MPI; ' : '';
    whole.prepend(make('p', 'hint', `${what}all charts from 0 to ${inWords(high, 's')}`));
    return whole;
  }
}

function bar(name, bytes, count, most) {
  const cell = make('td', name);
  const fill = make('span', 'bar');
  fill.style.width = `${(100 * bytes) / most}%`;
  cell.append(fill, make('span', '', count ? inWords(bytes, 'B') : '-'));
  cell.title = count ? `${count.toLocaleString('en')} messages` : 'no messages';
  return cell;
}
