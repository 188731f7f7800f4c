// SPDX-License-Identifier: BSD-3-Clause
// A small chart of one number over all steps, with the shown step marked. A click chooses a step.

const [WIDTH, HEIGHT] = [300, 40];
const SVG = 'http://www.w3.org/2000/svg';

function svg(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** values : one per step, null where not measured; high : the upper end, common to neighbouring charts;
 * marked : which value is marked at first; onPick : takes the number of the value that is clicked; words : what it
 * shows. */
export function chart(values, high, marked, onPick, words) {
  const element = svg('svg', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    class: 'chart',
    role: 'img',
    'aria-label': words,
    preserveAspectRatio: 'none',
  });
  const n = values.length;
  const x = (at) => ((at + 0.5) / n) * WIDTH;
  const y = (value) => HEIGHT - 1 - (value / (high || 1)) * (HEIGHT - 3);
  element.append(svg('path', { d: area(values, x, y), class: 'chart-area' }));
  const line = svg('line', { y1: 0, y2: HEIGHT, class: 'chart-now' });
  element.append(line);
  element.show = (at) => {
    line.setAttribute('x1', x(at));
    line.setAttribute('x2', x(at));
  };
  element.show(marked);
  element.addEventListener('click', (event) => {
    const box = element.getBoundingClientRect();
    onPick(Math.min(n - 1, Math.floor(((event.clientX - box.left) / box.width) * n)));
  });
  return element;
}

/** The path of a filled curve; of several steps in a pixel, the largest counts, so that no peak is lost. */
function area(values, x, y) {
  const n = values.length;
  const each = Math.max(1, Math.ceil(n / WIDTH));
  let path = '';
  let open = false;
  let last = 0;
  for (let from = 0; from < n; from += each) {
    const known = values.slice(from, from + each).filter((value) => value !== null);
    if (!known.length) {
      if (open) path += `L${last} ${HEIGHT}Z`;
      open = false;
      continue;
    }
    const [left, right] = [x(from - 0.5), x(Math.min(from + each, n) - 0.5)];
    const top = y(Math.max(...known)).toFixed(1);
    path += open ? `L${left.toFixed(1)} ${top}` : `M${left.toFixed(1)} ${HEIGHT}L${left.toFixed(1)} ${top}`;
    path += `L${right.toFixed(1)} ${top}`;
    [open, last] = [true, right.toFixed(1)];
  }
  return open ? `${path}L${last} ${HEIGHT}Z` : path;
}
