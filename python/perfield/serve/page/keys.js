// SPDX-License-Identifier: BSD-3-Clause
// All keys of the page, each with what it does: the commands of the palette, and the page that ? shows.

import * as data from './data.js';
import { openReport } from './findings.js';
import { movedCut, nextCut, otherKind } from './cut.js';
import { make } from './legend.js';
import { enlarge } from './menu.js';
import { Palette } from './palette.js';

export class Keys {
  constructor(app) {
    this.app = app;
    this.commands = this.#commands();
    this.palette = new Palette(app, this.commands);
    this.help = this.#page();
    const open = { find: () => this.palette.open(), help: () => this.help.showModal() };
    for (const [id, run] of Object.entries(open)) document.getElementById(id).addEventListener('click', run);
    document.addEventListener('keydown', (event) => this.#press(event));
  }

  /** {name, key as it is written, keys as browsers call them, run}. */
  #commands() {
    const { app } = this;
    const { controls } = app;
    const rank = (by) => {
      const next = app.chosen === null ? 0 : app.chosen + by;
      app.set({ rank: Math.min(Math.max(next, 0), app.run.n_ranks - 1) });
    };
    const all = [
      { name: 'search', key: 'Ctrl-K  /', keys: ['/'], run: () => this.palette.open() },
      { name: 'one step back', key: '\u2190', keys: ['ArrowLeft'], run: () => controls.go(app.frame - 1) },
      { name: 'one step on', key: '\u2192', keys: ['ArrowRight'], run: () => controls.go(app.frame + 1) },
      { name: 'first step', key: 'Home', keys: ['Home'], run: () => controls.go(0) },
      { name: 'last step', key: 'End', keys: ['End'], run: () => controls.go(app.run.n_frames - 1) },
      { name: 'play or stop', key: 'space', keys: [' '], run: () => controls.play(!controls.playing) },
      {
        name: 'follow the program',
        key: 'F',
        keys: ['f'],
        run: () => app.run.live && app.set({ follow: !app.follow }),
      },
      { name: 'previous rank', key: '[', keys: ['['], run: () => rank(-1) },
      { name: 'next rank', key: ']', keys: [']'], run: () => rank(1) },
      {
        name: 'choose no rank, show findings',
        key: 'Esc',
        keys: ['Escape'],
        run: () => (document.querySelector('.large') ? enlarge(null) : app.set({ rank: null })),
      },
      {
        name: 'show a finding',
        key: '1 ... 9',
        keys: [...'123456789'],
        run: (key = '1') => app.findings.show(Number(key) - 1),
      },
      { name: 'open the report', key: 'O', keys: ['o'], run: () => openReport(app) },
      {
        name: 'colours: range of this step',
        key: 'D',
        keys: ['d'],
        run: () => app.setEnds(app.rangeOfStep),
      },
      { name: 'colours: range of all steps', key: 'A', keys: ['a'], run: () => app.setEnds(null) },
      {
        name: 'messages of the step as lines',
        key: 'M',
        keys: ['m'],
        run: () => app.toggleLayer('messages'),
      },
      { name: 'take the last choice back', key: 'U', keys: ['u'], run: () => window.history.back() },
      { name: 'copy a link to this view', key: 'C', keys: ['c'], run: () => copyLink(app) },
      { name: 'compare with another step or run, or end that', key: 'B', keys: ['b'], run: () => app.compared.toggle() },
      {
        name: 'compare with the step before or after',
        key: ',  .',
        keys: [',', '.'],
        run: (key) => app.compared.move(key === '.' ? 1 : -1),
      },
      { name: 'clip the mesh across x, y, z, or not', key: 'X', keys: ['x'], run: () => app.set({ cut: nextCut(app.cut) }) },
      { name: 'a slice of the mesh, or a clip', key: 'S', keys: ['s'], run: () => app.set({ cut: otherKind(app.cut) }) },
      {
        name: 'move the cut',
        key: 'PgUp PgDn',
        keys: ['PageUp', 'PageDown'],
        run: (key) => app.set({ cut: movedCut(app.cut, key === 'PageUp' ? 1 : -1) }),
      },
      { name: 'see through all but the chosen rank', key: 'T', keys: ['t'], run: () => app.toggleLayer('clear') },
      {
        name: 'inside the step, or all steps',
        key: 'I',
        keys: ['i'],
        run: () => app.set({ inside: !app.timeline.isOn }),
      },
      { name: 'logged step before or after', key: '<  >', keys: ['<', '>'], run: (key) => app.timeline.go(key === '>' ? 1 : -1) },
      { name: 'all ranks and steps', key: 'W', keys: ['w'], run: () => app.heat.all() },
      { name: 'turn the pictures back', key: 'R', keys: ['r'], run: () => app.pictures.reset() },
      { name: 'show the keys', key: '?', keys: ['?'], run: () => this.help.showModal() },
    ];
    return all.filter(({ keys }) => !data.isFile() || !keys.includes('f')); // a file is not a program that runs
  }

  #page() {
    const page = document.body.appendChild(make('dialog', 'keys'));
    page.setAttribute('aria-label', 'keys');
    const list = make('dl', 'facts');
    const more = [
      { key: '+ \u2212 0', name: 'zoom the machine or the time inside a step, if it has the focus, and show all of it' },
      { key: 'shift click', name: 'in the heat map: compare with that step' },
      { key: 'shift \u2190 \u2192', name: 'move along the time inside a step, if it has the focus' },
      { key: '\u2191 \u2193', name: 'another rank, if the heat map or the inside of a step has the focus' },
      { key: '\u2190 \u2192', name: 'move an end of the colours, if it has the focus' },
    ];
    for (const { key, name } of [...this.commands, ...more]) {
      list.append(make('dt', 'key', key), make('dd', '', name));
    }
    const close = make('button', '', 'Close');
    close.addEventListener('click', () => page.close());
    page.append(make('h2', '', 'Keys'), list, close);
    page.addEventListener('keydown', (event) => event.stopPropagation());
    return page;
  }

  #press(event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      this.palette.open();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { tagName, type } = event.target;
    const isSlider = type === 'range' || type === 'checkbox';
    const isWriting = tagName === 'SELECT' || (tagName === 'INPUT' && !isSlider);
    if (isWriting && event.key !== 'Escape') return;
    const isOwn = tagName === 'BUTTON' || tagName === 'SUMMARY' || type === 'checkbox';
    if (event.key === ' ' && isOwn) return;
    if (type === 'range' && event.target.id !== 'frame' && event.key.startsWith('Arrow')) return;
    const command = this.commands.find(
      ({ keys }) => keys.includes(event.key) || keys.includes(event.key.toLowerCase()),
    );
    if (!command || this.app.run.n_frames === 0) return;
    event.preventDefault();
    command.run(event.key);
  }
}

/** Copies the address; where the browser refuses, a message has it. */
async function copyLink(app) {
  const link = window.location.href;
  try {
    await navigator.clipboard.writeText(link);
    app.say('The link to this view is copied.');
  } catch {
    app.say(`The browser copies nothing here; the link is ${link}`);
  }
}
