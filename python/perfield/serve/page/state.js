// SPDX-License-Identifier: BSD-3-Clause
// What the reader chose, kept in the address behind #, so that a link and a reload show the same.

/** {frame, step, field, own, rank, ends, with, cut, part, ranks, mean, inside} of the address; what it does not name is absent. */
export function fromAddress() {
  const words = new URLSearchParams(window.location.hash.slice(1));
  /** @type {Record<string, any>} */
  const out = {};
  for (const name of ['frame', 'step', 'rank', 'with']) {
    if (/^\d+$/.test(words.get(name) ?? '')) out[name] = Number(words.get(name));
  }
  for (const name of ['field', 'own', 'cut', 'part', 'ranks', 'mean']) if (words.has(name)) out[name] = words.get(name);
  if (words.get('inside') === '1') out.inside = true;
  const ends = (words.get('ends') ?? '').split(' ').filter(Boolean).map(Number);
  if (ends.length === 2 && ends[0] < ends[1]) out.ends = ends;
  return out;
}

/** Numbers as ranges, "0-3,7"; "" where these are too many for an address. */
export function asRanges(numbers) {
  const ranges = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    if (ranges.length && ranges.at(-1)[1] === number - 1) ranges.at(-1)[1] = number;
    else ranges.push([number, number]);
  }
  const text = ranges.map(([low, high]) => (low === high ? low : `${low}-${high}`)).join();
  return text.length > LONGEST ? '' : text;
}

/** The numbers below n of ranges, "0-3,7", as a Set; null for any other text. */
export function fromRanges(text, n) {
  if (!/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(text ?? '')) return null;
  const found = new Set();
  for (const range of text.split(',')) {
    const [low, high = low] = range.split('-').map(Number);
    for (let number = low; number <= Math.min(high, n - 1); number += 1) found.add(number);
  }
  return found.size ? found : null;
}

const LONGEST = 1000; // characters of ranges
const TOGETHER_MS = 1000; // changes of the same choice within this are one entry of the history
let last = { what: '', at: -Infinity };

/** Writes the choices into the address. isOwn : the reader chose, so that Back takes it back; a choice that changes
 * on and on, as a dragged slider, has one entry. */
export function toAddress(choices, isOwn) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(choices)) {
    if (value !== null && value !== undefined) words.set(name, value);
  }
  const { pathname, search, hash } = window.location;
  const address = `${pathname}#${words}`;
  if (address === pathname + search + hash) return;
  const before = new URLSearchParams(hash.slice(1));
  const names = new Set([...words.keys(), ...before.keys()]);
  const what = [...names].filter((name) => words.get(name) !== before.get(name)).join();
  const isSame = what === last.what && performance.now() - last.at < TOGETHER_MS;
  last = { what, at: performance.now() };
  if (isOwn && hash && !isSame) window.history.pushState(null, '', address);
  else window.history.replaceState(null, '', address);
}
