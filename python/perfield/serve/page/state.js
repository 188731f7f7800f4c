// SPDX-License-Identifier: BSD-3-Clause
// What the reader chose, kept in the address behind #, so that a link and a reload show the same.

/** {frame, step, field, own, rank, ends} of the address; what it does not name is absent. */
export function fromAddress() {
  const words = new URLSearchParams(window.location.hash.slice(1));
  const out = {};
  for (const name of ['frame', 'step', 'rank']) {
    if (/^\d+$/.test(words.get(name) ?? '')) out[name] = Number(words.get(name));
  }
  for (const name of ['field', 'own']) if (words.has(name)) out[name] = words.get(name);
  const ends = (words.get('ends') ?? '').split(' ').filter(Boolean).map(Number);
  if (ends.length === 2 && ends[0] < ends[1]) out.ends = ends;
  return out;
}

/** Writes the choices into the address, without an entry in the history. */
export function toAddress({ frame, field, own, rank, ends }) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries({ frame, field, own, rank, ends })) {
    if (value !== null && value !== undefined) words.set(name, value);
  }
  const address = `${window.location.pathname}#${words}`;
  if (address !== window.location.pathname + window.location.search + window.location.hash) {
    window.history.replaceState(null, '', address);
  }
}
