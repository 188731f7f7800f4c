// SPDX-License-Identifier: BSD-3-Clause
// The choosers of field and step, play and follow.

import { get } from './elements.js';
import { unitFor } from './units.js';

const PLAY_MS = 10_000; // of a whole run, if its steps are drawn as fast,
const EACH_MS = [1000 / 30, 120]; // but each step at least and at most so long
const HALF_MS = 8; // of a picture of the browser
export const GROUPS = {
  time: 'Time',
  waiting: 'Waiting',
  messages: 'Messages',
  region: 'Regions',
  files: 'Files',
  memory: 'Memory',
  devices: 'Devices',
  mesh: 'Mesh',
  place: 'Place',
  other: 'Other',
};

/** The time of the first picture that the browser shows from a time on. */
function picture(from) {
  return new Promise((resolve) => {
    const look = (now) => (now >= from ? resolve(now) : requestAnimationFrame(look));
    requestAnimationFrame(look);
  });
}

export class Controls {
  constructor(app) {
    this.app = app;
    this.playing = false;
    get('field').addEventListener('change', () => app.set({ field: get('field').value }));
    get('frame').addEventListener('input', () => this.go(Number(get('frame').value)));
    get('back').addEventListener('click', () => this.go(app.frame - 1));
    get('on').addEventListener('click', () => this.go(app.frame + 1));
    get('play').addEventListener('click', () => this.play(!this.playing));
    get('follow').addEventListener('change', () => app.set({ follow: get('follow').checked }));
  }

  /** Offers the fields and steps of the run. */
  fill() {
    const { run } = this.app;
    const select = get('field');
    const groups = new Map(Object.values(GROUPS).map((title) => [title, []]));
    for (const about of run.fields) {
      const [, unit] = unitFor(about.unit, about.range?.[1] ?? 0);
      const option = new Option(unit ? `${about.title} (${unit})` : about.title, about.name);
      option.title = about.meaning ?? '';
      groups.get(GROUPS[about.group] ?? GROUPS.other).push(option);
    }
    const parts = [...groups]
      .filter(([, options]) => options.length)
      .map(([title, options]) => {
        const part = document.createElement('optgroup');
        part.label = title;
        part.append(...options);
        return part;
      });
    const names = (options) => options.map(({ value }) => value).join();
    // An open menu would close if its options were put in anew.
    if (names([...select.options]) !== names([...groups.values()].flat())) select.replaceChildren(...parts);
    get('frame').max = Math.max(0, run.n_frames - 1);
    for (const id of ['field', 'frame', 'back', 'on']) get(id).disabled = run.n_frames === 0;
    get('play').disabled = run.n_frames < 2;
    get('follow').disabled = !run.live;
    this.update();
  }

  /** Shows what is chosen. */
  update() {
    const { app } = this;
    if (app.about) get('field').value = app.about.name;
    if (get('own')) get('own').value = app.own ?? '';
    get('frame').value = app.frame;
    get('frame').setAttribute('aria-valuetext', app.stepWords(app.frame));
    get('follow').checked = Boolean(app.follow) && app.run.live;
    get('back').disabled = app.frame <= 0;
    get('on').disabled = app.frame >= app.run.n_frames - 1;
    get('step-words').textContent = app.stepWords(app.frame);
    get('step-words').title = `frame ${app.frame + 1} of ${app.run.n_frames}`;
  }

  /** Plays the steps, each as soon as the one before is seen. */
  async play(isOn) {
    this.playing = isOn;
    document.body.classList.toggle('playing', isOn);
    get('play').setAttribute('aria-label', isOn ? 'stop' : 'play');
    const { app } = this;
    const token = (this.token = {});
    if (isOn && app.frame >= app.run.n_frames - 1) app.set({ frame: 0 });
    const [least, most] = EACH_MS;
    const each = Math.min(Math.max(PLAY_MS / app.run.n_frames, least), most);
    let seen = performance.now();
    while (this.playing && this.token === token && app.frame < app.run.n_frames - 1) {
      app.set({ frame: app.frame + 1 });
      await app.drawn;
      seen = await picture(seen + each - HALF_MS);
    }
    if (this.token === token && this.playing) this.play(false);
  }

  /** Shows a step; playing ends. */
  go(frame) {
    if (this.playing) this.play(false);
    this.app.set({ frame });
  }
}
