// SPDX-License-Identifier: BSD-3-Clause
// The values of fields, fetched in chunks of frames as they are looked at, and kept.

import * as data from './data.js';

const CHUNK_BYTES = 2 ** 18; // little for a slow tunnel, and many steps of a small run
const KEPT_BYTES = 2 ** 27;

export class Values {
  #chunks = new Map(); // "field/number" -> Float32Array, oldest first
  #pending = new Map(); // by request, so that a chunk of a run that has grown is another
  #partial = Infinity; // frames from here on may still change

  /** of : the run, as for data.js. */
  constructor(run, of = undefined) {
    this.of = of;
    this.update(run);
  }

  /** Takes note of a run that has grown; what was not whole before is asked for anew. */
  update(run) {
    const first = run.live ? run.frames.n_present.findIndex((n) => n < run.n_ranks) : -1;
    this.nRanks = run.n_ranks;
    this.nFrames = run.n_frames;
    this.each = Math.max(1, Math.floor(CHUNK_BYTES / 4 / run.n_ranks));
    for (const [key, values] of this.#chunks) {
      const begin = Number(key.split('/').at(-1)) * this.each;
      const end = begin + values.length / this.nRanks;
      const isShort = values.length < this.each * this.nRanks && end < this.nFrames;
      if (isShort || end > this.#partial) this.#chunks.delete(key);
    }
    this.#partial = first < 0 ? Infinity : first;
  }

  /** The values of all ranks in a frame, if they are here. */
  known(field, frame) {
    const number = Math.floor(frame / this.each);
    const chunk = this.#chunks.get(`${field}/${number}`);
    const at = (frame - number * this.each) * this.nRanks;
    return chunk && at + this.nRanks <= chunk.length ? chunk.subarray(at, at + this.nRanks) : null;
  }

  /** The values of all ranks in a frame. */
  async at(field, frame, signal) {
    if (!this.known(field, frame)) await this.#fetch(field, Math.floor(frame / this.each), signal);
    return this.known(field, frame);
  }

  /** The mean of each rank's values in frames `from` to `to - 1`; NaN for a rank without any. */
  async mean(field, from, to, signal) {
    const [sums, known] = [new Float64Array(this.nRanks), new Uint32Array(this.nRanks)];
    for (let frame = from; frame < to; frame += 1) {
      (await this.at(field, frame, signal))?.forEach((value, rank) => {
        if (!Number.isNaN(value)) [sums[rank], known[rank]] = [sums[rank] + value, known[rank] + 1];
      });
    }
    return Float32Array.from(sums, (sum, rank) => (known[rank] ? sum / known[rank] : NaN));
  }

  /** Fetches the chunk after that of a frame, so that play need not wait. */
  async ahead(field, frame) {
    const next = (Math.floor(frame / this.each) + 1) * this.each;
    if (next < this.nFrames && !this.known(field, next)) await this.at(field, next).catch(() => {});
  }

  #fetch(field, number, signal) {
    const key = `${field}/${number}`;
    const from = number * this.each;
    const to = Math.min(from + this.each, this.nFrames);
    const asked = `${field}/${from}/${to}`;
    if (this.#pending.has(asked)) return this.#pending.get(asked);
    const request = data.values(field, from, to, signal, this.of).then((values) => this.#keep(key, values));
    if (signal) return request; // it may be aborted, so nobody else waits for it
    this.#pending.set(
      asked,
      request.finally(() => this.#pending.delete(asked)),
    );
    return this.#pending.get(asked);
  }

  #keep(key, values) {
    this.#chunks.set(key, values);
    let size = 0;
    for (const chunk of this.#chunks.values()) size += chunk.byteLength;
    for (const [old, chunk] of this.#chunks) {
      if (size <= KEPT_BYTES || old === key) break;
      this.#chunks.delete(old);
      size -= chunk.byteLength;
    }
  }
}
