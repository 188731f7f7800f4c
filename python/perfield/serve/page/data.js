// SPDX-License-Identifier: BSD-3-Clause
// All that the page asks for: one function for each kind of request. Nothing else in the page fetches numbers.

import { binary, json, packed } from './api.js';

/** The run in words and small numbers; {version, unchanged} if it is as it was at version `since`. */
export const run = (since, signal) => json('run', { since }, signal);

/** A field of frames `from` to `to - 1`: the values of all ranks in each. */
export const values = async (field, from, to, signal) =>
  new Float32Array(await binary('values', { field, from, to }, signal));

/** The heat map of a field. */
export const heat = (field, signal) => packed('heat', { field }, signal);

/** The surface of a version of the mesh. */
export const mesh = (version, signal) => packed('mesh', { version }, signal);

/** One of the simulation's own fields on the mesh of a frame. */
export const own = (field, frame, signal) => packed('own', { field, frame }, signal);

/** The picture of the machine for a size in pixels. */
export const machine = (wide, high, signal) => packed('machine', { wide, high }, signal);

/** The pairs with the most bytes in a frame, at most `top`. */
export const messages = (frame, top, signal) => packed('messages', { frame, top }, signal);

/** Messages of frames `from` to `to - 1`, added up by sender and receiver. */
export const matrix = (from, to, signal) => packed('matrix', { from, to }, signal);

/** What is known of a rank. */
export const rank = (number, signal) => json('rank', { rank: number }, signal);

/** What costs time, as cards. */
export const findings = (signal) => json('findings', {}, signal);

/** The report as HTML. */
export const report = async (signal) => new TextDecoder().decode(await binary('report', {}, signal));

/** vtk.js, which draws in 3-D, or {reason} why it is not here. */
export async function library() {
  try {
    return await import('./vtk.js');
  } catch {
    const answer = await fetch('page/vtk.js').catch(() => null);
    const refusal = await answer?.json().catch(() => null);
    const lost = 'The server did not send vtk.js, which draws in 3-D. Load the page again.';
    return { reason: refusal?.error ?? lost };
  }
}
