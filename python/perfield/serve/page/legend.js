// SPDX-License-Identifier: BSD-3-Clause
// The legend of a field: its colours, with a number at both ends, which can be dragged and typed.

import { all } from './elements.js';
import { amount, inWords, parsed, unitFor } from './units.js';

const KEY = 0.02; // of the bar, by an arrow

/** Fills an element with the legend. about : the field; colours : its Colours.
 * change : {whole: [low, high] of the bar, isChanged, set(ends or null), ofStep()}; null for a legend that stays. */
export function drawLegend(element, about, colours, change = null) {
  if (element.contains(document.activeElement) && document.activeElement.matches('input')) return; // typing
  const ends = [colours.low, colours.high];
  const [factor, unit] = unitFor(about.unit, Math.max(...ends.map(Math.abs)));
  const parts = ends.map((value, end) => number(value, end, factor, unit, ends, change));
  const bar = make('div', 'legend-bar');
  const whole = change ? change.whole : ends;
  const share = (value) => (100 * (value - whole[0])) / (whole[1] - whole[0] || 1);
  const ramp = make('div', 'legend-ramp');
  ramp.style.cssText = `left: ${share(ends[0])}%; right: ${100 - share(ends[1])}%`;
  ramp.style.background = colours.gradient();
  bar.append(ramp);
  if (change) {
    bar.style.background = `linear-gradient(to right, ${css(colours.table.slice(0, 3))} ${share(ends[0])}%, ${css(colours.beyond)} ${share(ends[0])}%)`;
    bar.title = 'drag an end; double click: the range of this step';
    bar.addEventListener('dblclick', () => change.ofStep());
    ends.forEach((_, end) => bar.append(handle(end, ends, about.unit, whole, share, bar, change)));
  }
  element.replaceChildren(parts[0], bar, parts[1], make('span', 'legend-unit', unit));
  if (change?.isChanged) {
    const back = make('button', '', 'Auto');
    back.title = 'the range of all steps again';
    back.addEventListener('click', () => change.set(null));
    element.append(back);
  }
  if (colours.most > colours.high * (1 + 1e-6)) {
    element.append(patch(colours.beyond, `beyond: up to ${amount(colours.most * factor)}`));
  }
  element.append(patch(colours.absent, 'not measured'));
}

/** The number at an end. */
function number(value, end, factor, unit, ends, change) {
  const shown = value * factor;
  const text = shown !== 0 && Math.abs(shown) < 1e-3 ? shown.toExponential(1) : amount(shown);
  if (!change) return make('span', 'legend-end', text);
  const input = make('input', 'legend-end');
  input.value = text;
  input.style.width = `${Math.max(3, text.length) + 2}ch`;
  input.setAttribute('aria-label', `${end ? 'upper' : 'lower'} end of the colours, in ${unit || 'numbers'}`);
  input.addEventListener('change', () => {
    const typed = parsed(input.value);
    const wanted = ends.map((other, n) => (n === end ? typed / factor : other));
    input.blur();
    if (Number.isFinite(typed) && wanted[0] < wanted[1]) change.set(wanted);
    else input.value = text;
  });
  return input;
}

/** What is dragged to move an end. */
function handle(end, ends, unit, whole, share, bar, change) {
  const grip = make('span', 'legend-grip');
  grip.style.left = `${share(ends[end])}%`;
  grip.tabIndex = 0;
  grip.setAttribute('role', 'slider');
  grip.setAttribute('aria-label', `${end ? 'upper' : 'lower'} end of the colours`);
  grip.setAttribute('aria-valuenow', ends[end]);
  grip.setAttribute('aria-valuetext', inWords(ends[end], unit));
  const moved = (value) => {
    const gap = (whole[1] - whole[0]) * 1e-3;
    const wanted = [...ends];
    wanted[end] = end
      ? Math.max(Math.min(value, whole[1]), ends[0] + gap)
      : Math.min(Math.max(value, whole[0]), ends[1] - gap);
    return wanted;
  };
  grip.addEventListener('pointerdown', (event) => {
    event.preventDefault();
    const box = bar.getBoundingClientRect(); // each change draws another bar in its place
    const at = ({ clientX }) =>
      whole[0] + ((clientX - box.left) / box.width) * (whole[1] - whole[0]);
    const follow = (move) => change.set(moved(at(move)));
    const stop = () => {
      window.removeEventListener('pointermove', follow);
      window.removeEventListener('pointerup', stop);
    };
    window.addEventListener('pointermove', follow);
    window.addEventListener('pointerup', stop);
  });
  grip.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: -KEY, ArrowRight: KEY }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    change.set(moved(ends[end] + by * (whole[1] - whole[0])));
    all('#legend .legend-grip')[end]?.focus();
  });
  return grip;
}

function css(rgb) {
  return `rgb(${[...rgb].join(' ')})`;
}

function patch(rgb, words) {
  const box = make('span', 'legend-patch');
  box.style.background = css(rgb);
  const whole = make('span', 'legend-note');
  whole.append(box, words);
  return whole;
}

/** A new element with a class and a text. */
export function make(tag, name = '', text = '') {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== '') element.textContent = text;
  return element;
}
