// SPDX-License-Identifier: BSD-3-Clause
// Asks the server. Every failure becomes a ServerError whose text is a sentence for the reader of the page.

export class ServerError extends Error {
  /** isAnswer : the server itself said this, so it is there, and has no such thing. */
  constructor(sentence, isAnswer = false) {
    super(sentence);
    this.isAnswer = isAnswer;
  }
}

const KEY = 'perfield-session';
let session = null; // where the browser stores nothing
let entering = null; // the token, until it is exchanged

/** Exchanges a token in the address for a session value, and takes it out of the address. Raises ServerError. */
export async function enter() {
  const token = new URLSearchParams(window.location.search).get('token');
  if (token === null) return;
  window.history.replaceState(null, '', window.location.pathname + window.location.hash);
  entering = token;
  try {
    ({ session } = await json('session'));
  } finally {
    entering = null;
  }
  try {
    window.localStorage.setItem(KEY, session); // for other tabs of this host and port
  } catch {
    /* this tab alone knows it */
  }
}

/** The header that lets a request in. A tab of an earlier server takes what a later one brought. */
function authorization() {
  let stored = null;
  try {
    stored = window.localStorage.getItem(KEY);
  } catch {
    /* the browser stores nothing */
  }
  const known = entering ?? stored ?? session;
  return known ? { Authorization: `Bearer ${known}` } : {};
}

const under_way = { requests: 0, bytes: 0 };
/** @type {(now: { requests: number, bytes: number }) => void} */
let onChange = () => {};

/** Calls back with {requests, bytes} whenever data arrive; bytes : of the requests that are under way. */
export function onProgress(callback) {
  onChange = callback;
}

/** The body of the answer to /api/NAME, as bytes. parameters : by name, of which undefined ones are left out.
 * Raises ServerError; an AbortError if `signal` ends the request. */
export async function binary(name, parameters = {}, signal = undefined) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given).toString();
  const path = `api/${name}${query && '?'}${query}`;
  under_way.requests += 1;
  onChange(under_way);
  try {
    const answer = await asked(path, signal);
    const parts = [];
    let size = 0;
    for (const reader = answer.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      size += value.length;
      under_way.bytes += value.length;
      onChange(under_way);
    }
    const whole = new Uint8Array(size);
    parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
    if (!answer.ok) throw new ServerError(sentence(whole, answer.status), true);
    return whole.buffer;
  } catch (error) {
    if (error instanceof ServerError || error.name === 'AbortError') throw error;
    throw new ServerError('The connection to the server broke off; perfield serve may have ended.');
  } finally {
    under_way.requests -= 1;
    if (under_way.requests === 0) under_way.bytes = 0;
    onChange(under_way);
  }
}

async function asked(path, signal) {
  try {
    return await fetch(path, { signal, credentials: 'omit', headers: authorization() });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ServerError(
      'The server does not answer: perfield serve has ended, or the tunnel to it is closed.',
    );
  }
}

function sentence(body, status) {
  const text = new TextDecoder().decode(body);
  try {
    return JSON.parse(text).error;
  } catch {
    return `The server refused a request (status ${status}).`;
  }
}

/** An answer in JSON. */
export async function json(name, parameters, signal) {
  return JSON.parse(new TextDecoder().decode(await binary(name, parameters, signal)));
}

const KINDS = {
  '<f4': Float32Array,
  '<f8': Float64Array,
  '<i4': Int32Array,
  '<u4': Uint32Array,
  '|u1': Uint8Array,
};

/** A packed answer (perfield/serve/packed.py): its header, and its typed arrays by name in `arrays`. */
export async function packed(name, parameters, signal) {
  return unpacked(await binary(name, parameters, signal));
}

/** Header and arrays of a packed answer. */
export function unpacked(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  if (header.reason) throw new ServerError(header.reason, true); // why there is nothing
  const begin = Math.ceil((4 + length) / 8) * 8;
  const arrays = {};
  for (const { name, dtype, shape, offset } of header.arrays) {
    const size = shape.reduce((product, n) => product * n, 1);
    arrays[name] = new KINDS[dtype](buffer, begin + offset, size);
    Object.assign(arrays[name], { shape });
  }
  return { ...header, arrays };
}

/** Runs one request at a time: a new one ends the one before, whose result nobody wants any more. */
export class Latest {
  #control = null;

  /** The result of `request(signal)`, or undefined if a later request took its place. */
  async run(request) {
    this.#control?.abort();
    const control = (this.#control = new AbortController());
    try {
      const result = await request(control.signal);
      return control === this.#control ? result : undefined;
    } catch (error) {
      if (error.name === 'AbortError' || control !== this.#control) return undefined;
      throw error;
    }
  }
}
