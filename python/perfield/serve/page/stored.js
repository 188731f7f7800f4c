// SPDX-License-Identifier: BSD-3-Clause
// Answers from the page itself, where it was written as one file (perfield/serve/stored.py says what it holds).

import { ServerError, unpacked } from './api.js';

const KEPT = 24; // tables of fields, so that stepping need not unpack them again

export class Stored {
  index = null; // what the page holds

  #kept = new Map(); // promises of what was unpacked, by number of the part, oldest first

  /** What this page holds; null if it comes from a server. */
  static async here() {
    if (!document.getElementById('part-0')) return null;
    if (!window.DecompressionStream) {
      throw new ServerError('This browser is too old for this page; Chrome 80, Firefox 113 and later show it.');
    }
    const stored = new Stored();
    stored.index = await stored.#json(0);
    return stored;
  }

  run() {
    return this.index.run;
  }

  async values({ field, from, to }) {
    const { values } = (await this.#table(field)).arrays;
    const [, nGroups] = values.shape;
    const { n_ranks: nRanks } = this.index.run;
    if (nGroups === nRanks) return values.slice(from * nRanks, to * nRanks);
    const { ranks_each: each } = this.index;
    return Float32Array.from({ length: (to - from) * nRanks }, (_, at) => {
      const rank = at % nRanks;
      return values[(from + (at - rank) / nRanks) * nGroups + Math.floor(rank / each)];
    });
  }

  async heat({ field }) {
    const { values } = (await this.#table(field)).arrays;
    const [nFrames, nRows] = values.shape;
    const turned = new Float32Array(values.length);
    for (let frame = 0; frame < nFrames; frame += 1) {
      for (let row = 0; row < nRows; row += 1) turned[row * nFrames + frame] = values[frame * nRows + row];
    }
    Object.assign(turned, { shape: [nRows, nFrames] });
    const about = this.index.run.fields.find(({ name }) => name === field);
    return {
      ...about,
      complete: true,
      ranks_per_bin: this.index.ranks_each,
      frames_per_bin: 1,
      n_frames: nFrames,
      arrays: { values: turned },
    };
  }

  mesh({ version }) {
    return this.#packed(this.index.mesh[version], 'This page does not hold that version of the mesh.');
  }

  own({ field, frame }) {
    return this.#packed(this.index.own[field]?.[frame], 'This page does not hold that field in this step.');
  }

  /** The picture for the size that is most like the one that is wanted. */
  machine({ wide, high }) {
    const unlike = ([w, h]) => Math.abs(Math.log((wide * h) / (high * w))) + 0.2 * Math.abs(Math.log(wide / w));
    const [best] = [...this.index.machine].sort((a, b) => unlike(a) - unlike(b));
    return this.#packed(best?.[2], 'This page does not hold the picture of the machine.');
  }

  async messages({ frame, top }) {
    const { arrays, drawn, in_words: inWords } = await this.#packed(this.index.pairs);
    const [begin, end] = arrays.begin.subarray(frame, frame + 2);
    const last = Math.min(end, begin + Math.min(top, drawn));
    const part = (name) => arrays[name].subarray(begin, last);
    const found = Object.fromEntries(['source', 'target', 'bytes', 'count'].map((name) => [name, part(name)]));
    return { frame, in_words: inWords[frame] ?? '', arrays: found };
  }

  async matrix({ from, to }) {
    const { arrays } = await this.#packed(this.index.pairs);
    const { n_ranks: nRanks } = this.index.run;
    const per = Math.max(1, Math.ceil(nRanks / 512));
    const n = Math.ceil(nRanks / per);
    const [bytes, count] = [new Float64Array(n * n), new Float64Array(n * n)];
    for (let row = arrays.begin[from]; row < arrays.begin[to]; row += 1) {
      const at = Math.floor(arrays.source[row] / per) * n + Math.floor(arrays.target[row] / per);
      bytes[at] += arrays.bytes[row];
      count[at] += arrays.count[row];
    }
    const read = { frames_read: to - from, frames_wanted: to - from, complete: true };
    return { ...read, ranks_per_bin: per, n_bins: n, arrays: { bytes, count } };
  }

  timeline({ frame }) {
    return this.#packed(this.index.timelines[frame], 'This page does not hold the time line of that step.');
  }

  async rank({ rank }) {
    const { whole, regions, ranks } = await this.#json(this.index.ranks);
    const { place, partners, more_partners, unknown, regions: chosen, left_out } = ranks[rank];
    const series = async (names) =>
      Object.fromEntries(await Promise.all(names.map(async (name) => [name, await this.#series(name, rank)])));
    const fields = chosen.map((n) => regions[n][1]);
    const [ofRank, ofRegions] = await Promise.all([series(whole), series(fields)]);
    return {
      rank,
      place,
      partners: partners.map(([other, sent, received, sentCount, receivedCount]) => ({
        rank: other,
        sent,
        received,
        sent_count: sentCount,
        received_count: receivedCount,
      })),
      more_partners,
      unknown: { sent: unknown[0], received: unknown[1] },
      frames: Array.from({ length: this.index.run.n_frames }, (_, frame) => frame),
      fields: ofRank,
      regions: { fields, names: chosen.map((n) => regions[n][0]), series: ofRegions, left_out },
    };
  }

  findings() {
    return this.#json(this.index.findings);
  }

  async report() {
    const { report } = this.index;
    if (typeof report === 'string') throw new ServerError(report, true);
    return new TextDecoder().decode(await this.#unzipped(report));
  }

  async #series(field, rank) {
    const { values } = (await this.#table(field)).arrays;
    const [nFrames, nGroups] = values.shape;
    const at = Math.floor(rank / this.index.ranks_each);
    return Array.from({ length: nFrames }, (_, frame) => {
      const value = values[frame * nGroups + at];
      return Number.isNaN(value) ? null : value;
    });
  }

  #table(field) {
    return this.#packed(this.index.values[field], 'This page does not hold that field.');
  }

  /** Arrays and header of a part (perfield/serve/compact.py). missing : a sentence where there is none. */
  async #packed(number, missing = 'This page does not hold that.') {
    if (number === undefined || number === null) throw new ServerError(missing, true);
    return this.#once(number, async () => {
      const { stored, arrays, ...header } = unpacked(await this.#unzipped(number));
      const whole = Object.entries(stored).map(([name, about]) => [name, joined(arrays[name], about)]);
      return { ...header, arrays: Object.fromEntries(whole) };
    });
  }

  #json(number) {
    return this.#once(number, async () => JSON.parse(new TextDecoder().decode(await this.#unzipped(number))));
  }

  #once(number, make) {
    const known = this.#kept.get(number) ?? make();
    this.#kept.delete(number);
    this.#kept.set(number, known);
    if (this.#kept.size > KEPT) this.#kept.delete(this.#kept.keys().next().value);
    return known;
  }

  async #unzipped(number) {
    const text = atob(document.getElementById(`part-${number}`).textContent);
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).arrayBuffer();
  }
}

const KINDS = { '<f4': Float32Array, '<f8': Float64Array, '<i4': Int32Array, '<u4': Uint32Array, '|u1': Uint8Array };

/** An array from its planes of bytes. */
function joined(planes, { dtype, shape }) {
  const Kind = KINDS[dtype];
  const size = Kind.BYTES_PER_ELEMENT;
  const n = planes.length / size;
  const bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < size; plane += 1) {
    for (let at = 0; at < n; at += 1) bytes[at * size + plane] = planes[plane * n + at];
  }
  const values = new Kind(bytes.buffer);
  if (size > 1 && !dtype.includes('f')) for (let at = 1; at < n; at += 1) values[at] += values[at - 1];
  values.shape = shape;
  return values;
}
