// SPDX-License-Identifier: BSD-3-Clause
// A drawing context as that of a canvas, as far as the page uses it, whose drawing becomes SVG.

const SVG = 'http://www.w3.org/2000/svg';
const ANCHOR = { left: 'start', center: 'middle', right: 'end' };
const STATE = ['fillStyle', 'strokeStyle', 'lineWidth', 'font', 'textAlign', 'textBaseline', 'globalAlpha', 'turn'];

export class SvgContext {
  #kept = [];
  #path = '';
  fillStyle = '#000';
  strokeStyle = '#000';
  lineWidth = 1;
  font = '13px sans-serif';
  textAlign = 'left';
  textBaseline = 'alphabetic';
  globalAlpha = 1;
  turn = '';

  constructor(width, height) {
    this.root = document.createElementNS(SVG, 'svg');
    const about = { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` };
    for (const [name, value] of Object.entries(about)) this.root.setAttribute(name, value);
    this.measuring = document.createElement('canvas').getContext('2d');
  }

  /** The drawing as a file. */
  blob() {
    return new Blob([new XMLSerializer().serializeToString(this.root)], { type: 'image/svg+xml' });
  }

  save() {
    this.#kept.push(Object.fromEntries(STATE.map((name) => [name, this[name]])));
  }

  restore() {
    Object.assign(this, this.#kept.pop());
  }

  translate(x, y) {
    this.turn += `translate(${x} ${y})`;
  }

  rotate(angle) {
    this.turn += `rotate(${(180 * angle) / Math.PI})`;
  }

  fillRect(x, y, width, height) {
    this.#add('rect', { ...positive(x, y, width, height), fill: this.fillStyle });
  }

  strokeRect(x, y, width, height) {
    this.#add('rect', { ...positive(x, y, width, height), ...this.#line() });
  }

  beginPath() {
    this.#path = '';
  }

  moveTo(x, y) {
    this.#path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x, y) {
    this.#path += `${this.#path ? 'L' : 'M'}${short(x)} ${short(y)}`;
  }

  closePath() {
    this.#path += 'Z';
  }

  fill() {
    if (this.#path) this.#add('path', { d: this.#path, fill: this.fillStyle });
  }

  stroke() {
    if (this.#path) this.#add('path', { d: this.#path, ...this.#line() });
  }

  fillText(text, x, y, most = Infinity) {
    const [, weight, size] = this.font.match(/^(\d+ )?([\d.]+)px/) ?? [null, '', 13];
    const about = { x: short(x), y: short(y), fill: this.fillStyle, 'text-anchor': ANCHOR[this.textAlign] };
    const font = { 'font-size': size, 'font-weight': weight?.trim() || 400, 'font-family': 'system-ui, sans-serif' };
    const fit = this.measureText(text).width > most ? { textLength: most, lengthAdjust: 'spacingAndGlyphs' } : {};
    const middle = this.textBaseline === 'middle' ? { 'dominant-baseline': 'central' } : {};
    this.#add('text', { ...about, ...font, ...middle, ...fit }).textContent = text;
  }

  measureText(text) {
    this.measuring.font = this.font;
    return this.measuring.measureText(text);
  }

  /** Cells, which are an image of few pixels in SVG, too. */
  drawImage(image, x, y, width, height) {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext('2d').drawImage(image, 0, 0);
    const about = { x, y, width, height, href: canvas.toDataURL(), preserveAspectRatio: 'none' };
    this.#add('image', { ...about, style: 'image-rendering: pixelated' });
  }

  #line() {
    return { fill: 'none', stroke: this.strokeStyle, 'stroke-width': this.lineWidth, 'stroke-linejoin': 'round' };
  }

  #add(name, about) {
    const element = this.root.appendChild(document.createElementNS(SVG, name));
    for (const [key, value] of Object.entries(about)) element.setAttribute(key, value);
    if (this.globalAlpha < 1) element.setAttribute('opacity', this.globalAlpha);
    if (this.turn) element.setAttribute('transform', this.turn);
    return element;
  }
}

const short = (value) => Number(value.toFixed(2));

/** A box whose width and height are not negative, as SVG wants it. */
function positive(x, y, width, height) {
  const [left, top] = [Math.min(x, x + width), Math.min(y, y + height)];
  return { x: short(left), y: short(top), width: short(Math.abs(width)), height: short(Math.abs(height)) };
}
