// SPDX-License-Identifier: BSD-3-Clause
// Parts of the ranks that a search offers to look at alone: those of a host or switch, in a range, or beyond a value.

import { inWords, parsed, unitFor } from './units.js';

const MOST = 6; // hosts and switches

/** Rows of the palette: {group, text, note, run}. words : of the search, "only n003", "rank 4-9", "over 12". */
export function parts(app, words) {
  const found = [range(app, words), beyond(app, words), ...named(app, words)].filter((part) => part?.ranks.length);
  return found.map(({ text, ranks }) => ({
    group: 'Show only',
    text,
    note: `${ranks.length.toLocaleString('en')} ${ranks.length === 1 ? 'rank' : 'ranks'}`,
    run: () => app.setPart(app.span, new Set(ranks)),
  }));
}

const all = (app) => Array.from({ length: app.run.n_ranks }, (_, rank) => rank);

function range(app, words) {
  const [, low, high] = words.join(' ').match(/^(?:only )?(?:ranks? )?(\d+) ?(?:-|to) ?(\d+)$/) ?? [];
  if (low === undefined) return null;
  const ranks = all(app).filter((rank) => rank >= Number(low) && rank <= Number(high));
  return { text: `ranks ${low} to ${high}`, ranks };
}

/** Ranks beyond a value, in the unit of the legend. */
function beyond(app, words) {
  const [, way, number] = words.join(' ').match(/^(?:only )?(over|under|>|<) ?([\d.,e+-]+)/) ?? [];
  if (!way || !app.shown || !Number.isFinite(parsed(number))) return null;
  const { about, colours, shown } = app;
  const [factor] = unitFor(about.unit, Math.max(Math.abs(colours.low), Math.abs(colours.high)));
  const limit = parsed(number) / factor;
  const isOver = way === 'over' || way === '>';
  const ranks = all(app).filter((rank) => (isOver ? shown[rank] > limit : shown[rank] < limit));
  return { text: `ranks ${isOver ? 'over' : 'under'} ${inWords(limit, about.unit)} now`, ranks };
}

function named(app, words) {
  const fits = (...texts) => words.every((word) => texts.join(' ').toLowerCase().includes(word));
  const { host } = app.run.ranks;
  const hosts = [...new Set(host)].filter((name) => name && fits('only host', name)).slice(0, MOST);
  const { machine } = app.pictures;
  const layer = machine?.layers.get('switches');
  const switches = (layer?.names ?? []).filter((name) => name && fits('only switch', name)).slice(0, MOST);
  const below = (name) => machine.ranksOf({ layer, cell: layer.part.indexOf(layer.names.indexOf(name)) });
  return [
    ...hosts.map((name) => ({ text: `host ${name}`, ranks: all(app).filter((rank) => host[rank] === name) })),
    ...switches.map((name) => ({ text: `switch ${name}`, ranks: below(name) })),
  ];
}
