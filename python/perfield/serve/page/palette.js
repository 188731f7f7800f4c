// SPDX-License-Identifier: BSD-3-Clause
// Search and commands (Ctrl-K): fields in their groups, ranks, hosts, steps, findings, and what the page can do.

import { GROUPS } from './controls.js';
import { make } from './legend.js';
import { parts } from './parts.js';
import { unitFor } from './units.js';

const MOST = 400; // rows
const OF_EACH = 8; // ranks, hosts or steps that a search lists

export class Palette {
  /** commands : [{name, key, run}] */
  constructor(app, commands) {
    this.app = app;
    this.commands = commands;
    this.dialog = document.body.appendChild(make('dialog', 'palette'));
    this.dialog.setAttribute('aria-label', 'search');
    this.input = make('input');
    Object.assign(this.input, { type: 'search', placeholder: 'field, rank 12, host, step 7, command ...' });
    this.list = make('ul');
    this.list.id = 'found';
    this.list.setAttribute('role', 'listbox');
    for (const [name, value] of Object.entries({
      role: 'combobox',
      'aria-controls': 'found',
      'aria-expanded': 'true',
      'aria-label': 'search fields, ranks, hosts, steps and commands',
    })) {
      this.input.setAttribute(name, value);
    }
    this.dialog.append(this.input, this.list);
    this.input.addEventListener('input', () => this.#fill());
    this.dialog.addEventListener('keydown', (event) => this.#key(event));
    this.dialog.addEventListener('click', (event) => event.target === this.dialog && this.dialog.close());
  }

  open() {
    if (this.dialog.open) return;
    this.input.value = '';
    this.dialog.showModal();
    this.#fill();
    this.input.focus();
  }

  #key(event) {
    event.stopPropagation(); // what is typed here does nothing to the page
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) this.#choose((this.at + by + this.rows.length) % this.rows.length);
    else if (event.key === 'Enter') this.#run(this.at);
    else return;
    event.preventDefault();
  }

  #fill() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.#found(words).slice(0, MOST);
    this.list.replaceChildren();
    this.rows = [];
    let group = null;
    for (const item of found) {
      if (item.group !== group) {
        group = item.group;
        const head = make('li', 'palette-group', group);
        head.setAttribute('role', 'presentation');
        this.list.append(head);
      }
      const row = make('li', 'palette-row');
      row.id = `found-${this.rows.length}`;
      row.setAttribute('role', 'option');
      row.append(make('span', '', item.text), make('span', 'quiet', item.note ?? ''));
      const number = this.rows.length;
      row.addEventListener('click', () => this.#run(number));
      this.list.append(row);
      this.rows.push([row, item]);
    }
    if (!found.length) this.list.append(make('li', 'palette-group', 'Nothing has this name.'));
    this.#choose(0);
  }

  #choose(number) {
    this.at = number;
    this.rows.forEach(([row], n) => row.setAttribute('aria-selected', String(n === number)));
    const row = this.rows[number]?.[0];
    this.input.setAttribute('aria-activedescendant', row?.id ?? '');
    row?.scrollIntoView({ block: 'nearest' });
  }

  #run(number) {
    const item = this.rows[number]?.[1];
    if (!item) return;
    this.dialog.close();
    item.run();
  }

  /** What all words fit: {group, text, note, run}, group by group. */
  #found(words) {
    const fits = (...texts) => {
      const text = texts.join(' ').toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const places = words.length
      ? [...this.#ranks(words), ...this.#hosts(fits), ...this.#steps(words), ...parts(this.app, words)]
      : [];
    const cards = this.app.findings.cards ?? [];
    const findings = cards
      .map(({ kind, cost }, n) => ({
        group: 'Findings',
        text: kind,
        note: cost,
        run: () => this.app.findings.show(n),
      }))
      .filter(({ text }) => fits('finding', text));
    const commands = this.commands
      .filter(({ name }) => fits(name))
      .map(({ name, key, run }) => ({ group: 'Commands', text: name, note: key, run }));
    const rest = words.length ? [commands, this.#fields(fits)] : [this.#fields(fits), commands];
    return [...places, ...findings, ...rest.flat()];
  }

  #fields(fits) {
    const titles = Object.entries(GROUPS);
    return titles.flatMap(([group, title]) =>
      this.app.run.fields
        .filter((about) => (about.group in GROUPS ? about.group : 'other') === group)
        .filter((about) => fits(about.title, about.name, about.region ?? ''))
        .map((about) => ({
          group: `Fields: ${title.toLowerCase()}`,
          text: about.title,
          note: unitFor(about.unit, about.range?.[1] ?? 0)[1],
          run: () => this.app.set({ field: about.name }),
        })),
    );
  }

  #ranks(words) {
    const numbers = words.filter((word) => /^\d+$/.test(word));
    const others = words.filter((word) => !/^\d+$/.test(word));
    if (numbers.length !== 1 || !others.every((word) => 'rank'.startsWith(word))) return [];
    const { host } = this.app.run.ranks;
    const found = host.map((_, rank) => rank).filter((rank) => String(rank).startsWith(numbers[0]));
    return found.slice(0, OF_EACH).map((rank) => ({
      group: 'Ranks',
      text: `rank ${rank}`,
      note: host[rank],
      run: () => this.app.set({ rank }),
    }));
  }

  /** Hosts; the one that is taken shows its rank with the largest value. */
  #hosts(fits) {
    const { host } = this.app.run.ranks;
    const found = [...new Set(host)].filter((name) => name && fits('host', name)).slice(0, OF_EACH);
    return found.map((name) => ({
      group: 'Hosts',
      text: name,
      note: 'its rank with the largest value',
      run: () => {
        const ranks = host.map((_, rank) => rank).filter((rank) => host[rank] === name);
        const of = (rank) => this.app.shownValue(rank) ?? -Infinity;
        this.app.set({ rank: ranks.reduce((best, rank) => (of(rank) > of(best) ? rank : best)) });
      },
    }));
  }

  #steps(words) {
    const number = words.find((word) => /^\d+$/.test(word));
    if (number === undefined || !words.every((word) => word === number || 'step'.startsWith(word))) return [];
    const { frames, n_frames: n } = this.app.run;
    const found = Array.from({ length: n }, (_, frame) => frame).filter((frame) =>
      frames.title[frame].split(/[ ,]+/, 2).includes(number),
    );
    return found.slice(0, OF_EACH).map((frame) => ({
      group: 'Steps',
      text: frames.title[frame],
      run: () => this.app.set({ frame }),
    }));
  }
}
