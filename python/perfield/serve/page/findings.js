// SPDX-License-Identifier: BSD-3-Clause
// What costs time, as cards: a sentence, its cost and what helps. A click shows its step, field and rank.

import * as data from './data.js';
import { make } from './legend.js';

const SERVED_BEFORE = 'http://localhost:8017/'; // where links of the report lead
const AGAIN_MS = 20000; // while the program runs

export class Findings {
  constructor(app) {
    this.app = app;
    this.element = make('section', 'findings');
    this.element.setAttribute('aria-label', 'findings');
    this.element.append(make('p', 'hint', 'Looking for what costs time ...'));
    this.cards = null;
  }

  /** Asks what costs time; while the program runs, again and again. */
  async load() {
    try {
      const { findings } = await data.findings();
      this.cards = findings;
      this.#fill();
    } catch (error) {
      this.element.replaceChildren(make('p', 'hint', error.message));
      return;
    }
    if (this.app.run.live) setTimeout(() => this.load(), AGAIN_MS);
  }

  #fill() {
    const { cards } = this;
    if (!cards.length) {
      this.element.replaceChildren(make('p', 'hint', 'Nothing was found that costs time. The report says why.'));
      return;
    }
    this.element.replaceChildren(...cards.map((card, n) => this.#card(card, n)));
  }

  #card({ kind, words, cost, chance, remedy, frame, field, rank }, number) {
    const card = make('article', 'finding');
    const title = make('button', 'finding-title', kind);
    title.disabled = frame === null && field === null && rank === null;
    title.title = 'show its field, step and rank';
    card.append(title);
    if (cost) card.append(make('p', 'finding-cost', cost));
    card.append(make('p', '', words));
    if (chance) card.append(make('p', 'hint', chance));
    if (remedy) card.append(make('p', 'finding-remedy', remedy));
    const show = () => this.show(number);
    if (!title.disabled) card.addEventListener('click', show);
    return card;
  }

  /** Shows the field, step and rank of a finding. */
  show(number) {
    const card = this.cards?.[number];
    if (!card) return;
    const known = ['frame', 'field', 'rank'].filter((name) => card[name] !== null);
    this.app.set(Object.fromEntries(known.map((name) => [name, card[name]])));
  }
}

/** Opens the report in a tab of its own. */
export async function openReport(app) {
  const tab = window.open('', '_blank'); // at once, or the browser takes it for an advertisement
  try {
    const page = await data.report();
    if (!tab) throw new Error('The browser did not open a tab for the report; allow it for this page.');
    const here = `${window.location.origin}/`;
    const file = new Blob([page.replaceAll(SERVED_BEFORE, here)], { type: 'text/html' });
    tab.location = URL.createObjectURL(file);
  } catch (error) {
    tab?.close();
    app.say(error.message);
  }
}
