// SPDX-License-Identifier: BSD-3-Clause
// The menu of a card: it fills the page, or is saved as an image or as a table.

import { make } from './legend.js';
import { saveDrawing, saveImage, saveTable } from './save.js';

/** Adds the menu to a card; a double click on its head makes it large, and small again. */
export function addMenu(card, app) {
  const head = card.querySelector('.card-head');
  const name = card.getAttribute('aria-label');
  const menu = make('details', 'layers card-menu');
  const open = make('summary', '', '\u22ef');
  open.title = `large, image, table`;
  open.setAttribute('aria-label', `menu of ${name}`);
  const list = make('div');
  const large = make('button', '', 'Large or small');
  large.addEventListener('click', () => enlarge(card));
  const image = make('button', '', 'Save as PNG');
  image.addEventListener('click', () => saveImage(card, app));
  const table = make('button', '', 'Save as CSV');
  table.addEventListener('click', () => saveTable(card, app));
  const drawing = make('button', '', 'Save as SVG');
  drawing.addEventListener('click', () => saveDrawing(card, app));
  list.append(large, image, ...(card.id === 'mesh' ? [] : [drawing]), table); // a mesh is no drawing in the plane
  list.addEventListener('click', () => (menu.open = false));
  menu.append(open, list);
  head.append(menu);
  head.addEventListener('dblclick', (event) => event.target.closest('.tools, details') || enlarge(card));
  document.addEventListener('pointerdown', (event) => menu.contains(event.target) || (menu.open = false));
}

/** Makes a card fill the page, or small again; null: whichever is large becomes small. */
export function enlarge(card) {
  const isLarge = card?.classList.contains('large');
  for (const other of document.querySelectorAll('.large')) other.classList.remove('large');
  card?.classList.toggle('large', !isLarge);
  document.querySelector('main').classList.toggle('has-large', Boolean(card) && !isLarge);
}
