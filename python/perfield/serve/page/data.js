// SPDX-License-Identifier: BSD-3-Clause
// All that the page asks for: one function for each kind of request. Nothing else in the page fetches numbers.
// They come from the server, or from the page itself where it was written as one file.

import { binary, enter, json, packed } from './api.js';
import { Stored } from './stored.js';

let stored = null;

/** Prepares to ask. Raises ServerError. */
export async function open() {
  stored = await Stored.here();
  if (!stored) await enter();
}

/** Whether the page is one file, without a server. */
export const isFile = () => stored !== null;

/** The answer of the page itself, or of the server by `ask` of api.js. of : 'other/' for the run beside this one. */
const answer = async (ask, name, parameters, signal, of = '') =>
  stored ? stored[name](parameters) : ask(`${of}${name}`, parameters, signal);

/** The run in words and small numbers; {version, unchanged} if it is as it was at version `since`. */
export const run = (since, signal, of) => answer(json, 'run', { since }, signal, of);

/** A field of frames `from` to `to - 1`: the values of all ranks in each. */
export const values = (field, from, to, signal, of) =>
  answer(floats, 'values', { field, from, to }, signal, of);

/** The heat map of a field. */
export const heat = (field, signal) => answer(packed, 'heat', { field }, signal);

/** The surface of a version of the mesh. */
export const mesh = (version, signal, of) => answer(packed, 'mesh', { version }, signal, of);

/** The mesh where a plane across an axis cuts it, at thousandths of its extent. own : {field, frame} of one of the
 * simulation's own fields on it; null for none. */
export const slice = (version, axis, permille, own, signal, of) =>
  answer(packed, 'slice', { version, axis, permille, ...own }, signal, of);

/** One of the simulation's own fields on the mesh of a frame. */
export const own = (field, frame, signal) => answer(packed, 'own', { field, frame }, signal);

/** The picture of the machine for a size in pixels. */
export const machine = (wide, high, signal, of) => answer(packed, 'machine', { wide, high }, signal, of);

/** The pairs with the most bytes in a frame, at most `top`. */
export const messages = (frame, top, signal) => answer(packed, 'messages', { frame, top }, signal);

/** Messages of frames `from` to `to - 1`, added up by sender and receiver. */
export const matrix = (from, to, signal) => answer(packed, 'matrix', { from, to }, signal);

/** A logged frame as it went. */
export const timeline = (frame, signal) => answer(packed, 'timeline', { frame }, signal);

/** What is known of a rank. */
export const rank = (number, signal) => answer(json, 'rank', { rank: number }, signal);

/** What costs time, as cards. */
export const findings = (signal) => answer(json, 'findings', {}, signal);

/** What changed between two parts, [first frame, the one behind the last], and whether by chance. */
export const compare = ([before, beforeEnd], [after, afterEnd], signal) =>
  answer(json, 'compare', { before, before_end: beforeEnd, after, after_end: afterEnd }, signal);

/** The report as HTML. */
export const report = (signal) => answer(text, 'report', {}, signal);

const floats = async (...request) => new Float32Array(await binary(...request));
const text = async (...request) => new TextDecoder().decode(await binary(...request));

/** vtk.js, which draws in 3-D, or {reason} why it is not here. */
export async function library() {
  try {
    return await import('./vtk.js');
  } catch (error) {
    if (stored) return { reason: error.message };
    const refused = await fetch('page/vtk.js').catch(() => null);
    const refusal = await refused?.json().catch(() => null);
    const lost = 'The server did not send vtk.js, which draws in 3-D. Load the page again.';
    return { reason: refusal?.error ?? lost };
  }
}
