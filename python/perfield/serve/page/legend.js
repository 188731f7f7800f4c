// SPDX-License-Identifier: BSD-3-Clause
// The legend of a field: its colours, with round numbers and a unit.

import { amount, ticks, unitFor } from './units.js';

/** Fills an element with the legend. about : the field; colours : its Colours. */
export function drawLegend(element, about, colours) {
  const { unit, marks } = ticks(colours.low, colours.high, about.unit);
  const bar = make('div', 'legend-bar');
  bar.style.background = colours.gradient();
  const numbers = make('div', 'legend-numbers');
  for (const [value, text] of marks) {
    const mark = make('span', '', text);
    mark.style.left = `${(100 * (value - colours.low)) / (colours.high - colours.low)}%`;
    numbers.append(mark);
  }
  const scale = make('div', 'legend-scale');
  scale.append(bar, numbers);
  element.replaceChildren(make('span', 'legend-unit', unit), scale);
  const [factor] = unitFor(about.unit, Math.max(Math.abs(colours.low), Math.abs(colours.high)));
  if (colours.most > colours.high * (1 + 1e-6)) {
    element.append(patch(colours.beyond, `beyond: up to ${amount(colours.most * factor)}`));
  }
  element.append(patch(colours.absent, 'not measured'));
}

function patch(rgb, words) {
  const box = make('span', 'legend-patch');
  box.style.background = `rgb(${rgb.join(' ')})`;
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
