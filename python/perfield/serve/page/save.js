// SPDX-License-Identifier: BSD-3-Clause
// Saves what a card shows: as an image with a title and the colours, or as a table.

import { placeIn } from './pointer.js';
import { SvgContext } from './svg.js';
import { ink } from './theme.js';
import { amount, unitFor } from './units.js';

const HEAD = 34; // pixels above the image for its title
const WITHOUT_COLOURS = ['matrix', 'timeline']; // of the field
const BAR = 160; // pixels of the colours

/** Saves a card as PNG. */
export function saveImage(card, app) {
  const stage = card.querySelector('.stage');
  const ratio = Math.max(window.devicePixelRatio || 1, 1);
  const [width, height] = [stage.clientWidth, stage.clientHeight];
  const whole = document.createElement('canvas');
  [whole.width, whole.height] = [width * ratio, (height + HEAD) * ratio];
  const context = whole.getContext('2d');
  context.scale(ratio, ratio);
  drawHead(context, card, app, width, height);
  app.pictures.draw(); // what WebGL drew is gone once it was shown
  for (const canvas of stage.querySelectorAll('canvas')) {
    if (!canvas.width || !canvas.clientWidth) continue;
    const [x, y] = placeIn(stage, { clientX: canvas.getBoundingClientRect().left, clientY: canvas.getBoundingClientRect().top });
    context.drawImage(canvas, x, HEAD + y, canvas.clientWidth, canvas.clientHeight);
  }
  drawNames(context, stage, HEAD);
  whole.toBlob((blob) => save(blob, `${name(card, app)}.png`), 'image/png');
}

/** Saves a card in the plane as SVG, drawn anew. */
export function saveDrawing(card, app) {
  const stage = card.querySelector('.stage');
  const { clientWidth: width, clientHeight: height } = stage;
  const context = new SvgContext(width, height + HEAD);
  drawHead(context, card, app, width, height);
  context.translate(0, HEAD);
  if (card.id === 'machine') {
    for (const { view } of [app.pictures.machine, ...app.compared.machines].filter(Boolean)) {
      const { left, top } = view.stage.getBoundingClientRect();
      context.save();
      context.translate(...placeIn(stage, { clientX: left, clientY: top }));
      view.onDraw(context, view);
      view.onOverlay(context, view);
      context.restore();
    }
    drawNames(context, stage, 0);
  } else (app[card.id].grid ?? app[card.id].lanes).paint(context);
  save(context.blob(), `${name(card, app)}.svg`);
}

/** Writes what each pane of a comparison shows. */
function drawNames(context, stage, down) {
  context.fillStyle = ink('--ink');
  context.font = '14px system-ui, sans-serif';
  context.textAlign = 'left';
  for (const name of stage.querySelectorAll('.pane-name')) {
    const { left, bottom, width } = name.getBoundingClientRect();
    const [x, y] = placeIn(stage, { clientX: left, clientY: bottom });
    if (width) context.fillText(name.textContent, x, down + y - 4, width);
  }
}

/** Draws background, title and colours. */
function drawHead(context, card, app, width, height) {
  context.fillStyle = ink('--card');
  context.fillRect(0, 0, width, height + HEAD);
  context.fillStyle = ink('--ink');
  context.font = '14px system-ui, sans-serif';
  context.fillText(title(card, app), 12, 22, Math.max(width - BAR - 150, 60));
  if (!WITHOUT_COLOURS.includes(card.id) && app.colours) drawColours(context, width, app);
}

function drawColours(context, width, { about, colours }) {
  const [factor, unit] = unitFor(about.unit, Math.max(Math.abs(colours.low), Math.abs(colours.high)));
  const left = width - BAR - 70;
  const one = new Uint8Array(4);
  for (let x = 0; x < BAR; x += 1) {
    colours.put(colours.low + ((x + 0.5) / BAR) * (colours.high - colours.low), one, 0);
    context.fillStyle = `rgb(${one.slice(0, 3).join(' ')})`;
    context.fillRect(left + x, 11, 1, 13);
  }
  context.fillStyle = ink('--ink');
  context.font = '13px system-ui, sans-serif';
  context.textAlign = 'right';
  context.fillText(amount(colours.low * factor), left - 6, 22);
  context.textAlign = 'left';
  context.fillText(`${amount(colours.high * factor)} ${unit}`, left + BAR + 6, 22, 64);
}

function title(card, app) {
  const { run, about, frame } = app;
  if (card.id === 'matrix') return `${run.title}: messages, ${card.querySelector('.caption').textContent}`;
  if (card.id === 'timeline') return `${run.title}: inside ${run.frames.title[frame]}, ${run.n_ranks} ranks`;
  const when = card.id === 'heat' ? 'rank by step' : app.stepWords(frame);
  return `${run.title}: ${about?.title ?? ''}, ${when}, ${run.n_ranks} ranks`;
}

/** Saves the numbers of a card as CSV: of the heat map those that are shown, in its order. */
export function saveTable(card, app) {
  const rows = app[card.id]?.table ? app[card.id].table() : ranks(app);
  const lines = rows.map((row) => row.map(cell).join(','));
  save(new Blob([`${lines.join('\r\n')}\r\n`], { type: 'text/csv' }), `${name(card, app)}.csv`);
}

/** Place and value of each rank in the step that is shown. */
function ranks({ run, about, shown }) {
  const { host, core } = run.ranks;
  const rows = [...(shown ?? [])].map((value, rank) => [rank, host[rank], core[rank], value]);
  return [['rank', 'host', 'core', about ? `${about.name}` : 'value'], ...rows];
}

/** A cell as in RFC 4180; a name from the run that a spreadsheet would take for a formula is quoted text. */
function cell(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return '';
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function name(card, { run, about, frame }) {
  return `${run.name}-${card.id}-${about?.name ?? ''}-${frame}`.replace(/[^\w.-]/g, '_');
}

function save(blob, file) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
