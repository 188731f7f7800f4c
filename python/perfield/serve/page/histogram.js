// SPDX-License-Identifier: BSD-3-Clause
// How many ranks have which value in the step: a histogram on the bar of the legend, with the chosen rank.

const BINS = 48;
const HEIGHT = 16;
const LEAST = 2; // pixels of a bin that has any rank
const SVG = 'http://www.w3.org/2000/svg';

/** Counts values into bins between two ends; what lies beyond counts at the end. */
export function counted(values, [low, high]) {
  const counts = new Array(BINS).fill(0);
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    const at = Math.floor(((value - low) / (high - low || 1)) * BINS);
    counts[Math.max(0, Math.min(BINS - 1, at))] += 1;
  }
  return counts;
}

/** Draws the values of all ranks above the bar. chosen : that of the chosen rank, or null. */
export function drawHistogram(bar, values, ends, chosen) {
  if (!bar) return;
  const counts = counted(values, ends);
  const most = Math.max(...counts);
  const drawn = document.createElementNS(SVG, 'svg');
  const set = (element, about) => {
    for (const [name, value] of Object.entries(about)) element.setAttribute(name, value);
    return element;
  };
  const words = `ranks by value in the step; the highest bar is ${most} ranks, heights by the square root`;
  set(drawn, { class: 'histogram', viewBox: `0 0 ${BINS} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' });
  drawn.setAttribute('aria-label', words);
  const path = counts.map((count, bin) => {
    const high = count ? Math.max(LEAST, HEIGHT * Math.sqrt(count / most)) : 0;
    return `M${bin} ${HEIGHT}v${-high}h1v${high}z`;
  });
  drawn.append(set(document.createElementNS(SVG, 'path'), { d: path.join(''), class: 'chart-area' }));
  if (chosen !== null && !Number.isNaN(chosen)) {
    const x = BINS * Math.max(0, Math.min(1, (chosen - ends[0]) / (ends[1] - ends[0] || 1)));
    const line = { x1: x, x2: x, y1: 0, y2: HEIGHT, class: 'chart-now' };
    drawn.append(set(document.createElementNS(SVG, 'line'), line));
  }
  bar.querySelector('.histogram')?.remove();
  bar.prepend(drawn);
}
