// SPDX-License-Identifier: BSD-3-Clause
// A picture in the plane on a canvas: the wheel zooms where the pointer is, a drag moves, keys + - 0 do both.

import { DRAG_PIXELS, nothing, placeIn } from './pointer.js';

const MARGIN = 8; // pixels around the picture
const ZOOM = 1.25; // by a key, or by a notch of the wheel
const MOST = 400; // how often larger than at first

/** A view on a plane whose y points up. Events: onDraw(context, view), onOverlay(context, view), onPick(x, y),
 * onHover(x, y, event) with x null where the pointer left, onResize(), onMove(). */
export class View2d {
  width = 0; // in pixels
  height = 0;

  constructor(stage) {
    this.stage = stage;
    this.onDraw = this.onOverlay = this.onPick = this.onHover = this.onResize = this.onMove = nothing;
    this.base = stage.appendChild(document.createElement('canvas'));
    this.overlay = stage.appendChild(document.createElement('canvas'));
    this.overlay.className = 'overlay';
    this.overlay.setAttribute('aria-hidden', 'true');
    this.base.tabIndex = 0;
    this.base.setAttribute('role', 'img');
    this.zoom = 1; // over the scale that fits
    this.moved = [0, 0]; // of the picture's middle from the middle of the view, in pixels
    this.#listen();
    new ResizeObserver(() => this.resize()).observe(stage);
    this.resize();
  }

  /** Shows a box (left, right, low, high) whole. */
  look(box) {
    this.box = box ?? this.box;
    [this.zoom, this.moved] = [1, [0, 0]];
    this.draw();
    this.onMove();
  }

  /** How the picture is zoomed and moved. */
  get place() {
    return [this.zoom, this.moved];
  }

  /** Takes over the place of another view. */
  follow([zoom, moved]) {
    [this.zoom, this.moved] = [zoom, [...moved]];
    this.draw();
  }

  /** Pixels of a length 1. */
  get scale() {
    const [left, right, low, high] = this.box;
    const [wide, tall] = [this.width - 2 * MARGIN, this.height - 2 * MARGIN];
    return this.zoom * Math.min(wide / Math.max(right - left, 1e-9), tall / Math.max(high - low, 1e-9));
  }

  /** Where a point is seen, in pixels of the stage. */
  pixel(x, y) {
    const [left, right, low, high] = this.box;
    const { scale } = this;
    return [
      this.width / 2 + this.moved[0] + (x - (left + right) / 2) * scale,
      this.height / 2 + this.moved[1] - (y - (low + high) / 2) * scale,
    ];
  }

  /** The point at a pixel. */
  point(x, y) {
    const [left, right, low, high] = this.box;
    const { scale } = this;
    return [
      (left + right) / 2 + (x - this.width / 2 - this.moved[0]) / scale,
      (low + high) / 2 - (y - this.height / 2 - this.moved[1]) / scale,
    ];
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width || !height || (width === this.width && height === this.height)) return;
    [this.width, this.height] = [width, height];
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.base, this.overlay]) {
      [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    }
    this.draw();
    this.onResize();
  }

  /** Draws picture and overlay, at once. */
  draw() {
    if (!this.width || !this.box) return;
    this.onDraw(this.#cleared(this.base), this);
    this.drawOverlay();
  }

  drawOverlay() {
    if (this.width && this.box) this.onOverlay(this.#cleared(this.overlay), this);
  }

  /** Zooms by a factor around a pixel. */
  zoomAt(x, y, factor) {
    const zoom = Math.min(Math.max(this.zoom * factor, 1), MOST);
    const by = zoom / this.zoom;
    this.moved = [x - this.width / 2, y - this.height / 2].map(
      (at, axis) => at - by * (at - this.moved[axis]),
    );
    this.zoom = zoom;
    this.#move(0, 0);
  }

  #scheduled = false;

  #cleared(canvas) {
    const context = canvas.getContext('2d');
    const ratio = canvas.width / this.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    return context;
  }

  /** Moves the picture, of which a part stays in sight. */
  #move(dx, dy) {
    const [left, right, low, high] = this.box;
    const sizes = [(right - left) * this.scale, (high - low) * this.scale];
    const views = [this.width, this.height];
    this.moved = [dx, dy].map((by, axis) => {
      const seen = 0.3 * Math.min(sizes[axis], views[axis]);
      const most = this.zoom === 1 ? 0 : (sizes[axis] + views[axis]) / 2 - seen;
      return Math.min(Math.max(this.moved[axis] + by, -most), most);
    });
    this.stage.style.touchAction = this.zoom > 1 ? 'none' : 'pan-y';
    this.onMove();
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.draw();
    });
  }

  #listen() {
    let began = null;
    let wasDragged = false;
    const place = (event) => placeIn(this.stage, event);
    this.base.addEventListener(
      'wheel',
      (event) => {
        if (!this.box || (this.zoom === 1 && event.deltaY > 0)) return; // the page scrolls
        event.preventDefault();
        this.zoomAt(...place(event), ZOOM ** Math.max(-3, Math.min(3, -event.deltaY / 100)));
      },
      { passive: false },
    );
    this.base.addEventListener('pointerdown', (event) => {
      [began, wasDragged] = [place(event), false];
      if (event.button === 0) this.base.setPointerCapture(event.pointerId);
    });
    this.base.addEventListener('pointermove', (event) => {
      if (!this.box) return;
      const at = place(event);
      if (began && (wasDragged || Math.hypot(at[0] - began[0], at[1] - began[1]) > DRAG_PIXELS)) {
        this.#move(at[0] - began[0], at[1] - began[1]);
        [began, wasDragged] = [at, true];
        this.onHover(null, null, event);
      } else this.onHover(...this.point(...at), event);
    });
    this.base.addEventListener('pointerup', (event) => {
      if (began && !wasDragged && event.button === 0 && this.box) this.onPick(...this.point(...place(event)));
      began = null;
    });
    this.base.addEventListener('pointercancel', () => (began = null));
    this.base.addEventListener('pointerleave', (event) => this.onHover(null, null, event));
    this.base.addEventListener('keydown', (event) => {
      const factor = { '+': ZOOM, '=': ZOOM, '-': 1 / ZOOM }[event.key];
      if (event.key === '0') this.look();
      else if (factor) this.zoomAt(this.width / 2, this.height / 2, factor);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }
}
