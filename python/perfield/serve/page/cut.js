// SPDX-License-Identifier: BSD-3-Clause
// How the mesh is cut: a plane across an axis that takes away what lies before it, or all but a slice.

import { isFile } from './data.js';
import { make } from './legend.js';

const AXES = ['x', 'y', 'z'];
const KINDS = ['clip', 'slice'];
const STEP = 0.05; // of the mesh's extent, by a key

/** {kind, axis, at} of "clip x 0.5"; null for anything else. */
export function parsedCut(text) {
  const [, kind, axis, at] = (text ?? '').match(/^(clip|slice) ([xyz]) ([01]|0?\.\d+)$/) ?? [];
  return kind ? { kind, axis: AXES.indexOf(axis), at: Number(at) } : null;
}

/** A cut as it is written in the address. */
export const cutWords = (cut) => cut && `${cut.kind} ${AXES[cut.axis]} ${Number(cut.at.toFixed(3))}`;

/** The kinds of cuts that this page can show: a slice comes from the server. */
const kinds = () => (isFile() ? KINDS.slice(0, 1) : KINDS);

/** The next cut, as a key goes through them: across x, y, z, then none. */
export function nextCut(cut) {
  if (!cut) return { kind: KINDS[0], axis: 0, at: 0.5 };
  return cut.axis < 2 ? { ...cut, axis: cut.axis + 1 } : null;
}

/** The same cut of the other kind. */
export function otherKind(cut) {
  const kind = kinds()[cut?.kind === 'slice' ? 0 : 1] ?? KINDS[0];
  return { axis: 0, at: 0.5, ...cut, kind };
}

/** The same cut, so many keys further. */
export const movedCut = (cut, by) => cut && { ...cut, at: Math.min(Math.max(cut.at + by * STEP, 0), 1) };

/** The menu that chooses a cut: {element, show(cut)}. */
export function cutMenu(app) {
  const element = make('details', 'layers');
  const [list, chooser, place] = [make('div'), make('select'), make('input')];
  chooser.setAttribute('aria-label', 'how the mesh is cut');
  chooser.append(new Option('whole', ''));
  for (const kind of kinds()) {
    for (const axis of AXES) chooser.append(new Option(`${kind} across ${axis}`, `${kind} ${axis}`));
  }
  Object.assign(place, { type: 'range', min: 0, max: 1, step: 0.01, value: 0.5 });
  place.setAttribute('aria-label', 'where the mesh is cut');
  const set = () => app.set({ cut: chooser.value ? parsedCut(`${chooser.value} ${Number(place.value)}`) : null });
  for (const one of [chooser, place]) one.addEventListener('input', set);
  list.append(chooser, place);
  const open = make('summary', '', 'Cut');
  open.title = 'clip or slice the mesh (X, S; PageUp and PageDown move it)';
  element.append(open, list);
  document.addEventListener('pointerdown', (event) => element.contains(event.target) || (element.open = false));
  const show = (cut) => {
    chooser.value = cut ? `${cut.kind} ${AXES[cut.axis]}` : '';
    if (cut) place.value = cut.at;
    place.disabled = !cut;
  };
  show(app.cut);
  return { element, show };
}
