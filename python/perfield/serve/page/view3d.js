// SPDX-License-Identifier: BSD-3-Clause
// A picture in 3-D: cells drawn by vtk.js, and on a canvas above them what must stay sharp (lines, words).

import { Lens, balls, firstHit, fit } from './lens.js';
import { DRAG_PIXELS, nothing, placeIn } from './pointer.js';
import { ink } from './theme.js';

const WIDEST = 2048; // texels in a row of a texture

const NONE = new Uint32Array(0);

/** Cells that have owners (ranks, or parts of the machine). An owner has one colour: a texel of a texture, so
 * that another step changes a small image and no geometry. */
export class Cells {
  /** vtk : the module; points : (n, 3); cells : {verts, lines, polys} as [n, p0, .., n, ..], any of which may
   * be missing; owners : of each cell, in this order; nOwners : how many. Only polygons can be picked. */
  constructor(vtk, points, { verts = NONE, lines = NONE, polys = NONE }, owners, nOwners) {
    this.firstPoly = count(verts) + count(lines);
    this.sentPolys = polys;
    this.owners = owners;
    this.values = null; // of the simulation's own field, on points or cells
    const all = new Uint32Array(verts.length + lines.length + polys.length);
    [verts, lines, polys].reduce((at, cells) => (all.set(cells, at), at + cells.length), 0);
    const [apartPoints, cells, pointOwners] = apart(points, all, owners, nOwners);
    this.points = apartPoints;
    this.pointOwners = pointOwners;
    this.polys = cells.subarray(verts.length + lines.length);
    const width = Math.min(Math.max(nOwners, 1), WIDEST);
    const height = Math.ceil(Math.max(nOwners, 1) / width);
    this.texels = new Uint8Array(4 * width * height).fill(255);
    this.image = vtk.vtkImageData.newInstance();
    this.image.setDimensions(width, height, 1);
    this.scalars = vtk.vtkDataArray.newInstance({ name: 'rgba', numberOfComponents: 4, values: this.texels });
    this.image.getPointData().setScalars(this.scalars);
    const places = new Float32Array(2 * this.pointOwners.length);
    this.pointOwners.forEach((owner, n) => {
      places[2 * n] = ((owner % width) + 0.5) / width;
      places[2 * n + 1] = (Math.floor(owner / width) + 0.5) / height;
    });
    this.data = vtk.vtkPolyData.newInstance();
    this.data.getPoints().setData(this.points, 3);
    this.data.getVerts().setData(cells.subarray(0, verts.length));
    this.data.getLines().setData(cells.subarray(verts.length, verts.length + lines.length));
    this.data.getPolys().setData(this.polys);
    const tcoords = vtk.vtkDataArray.newInstance({ name: 'owner', numberOfComponents: 2, values: places });
    this.data.getPointData().setTCoords(tcoords);
    this.texture = vtk.vtkTexture.newInstance({ interpolate: false, repeat: false, edgeClamp: true });
    this.texture.setInputData(this.image);
    this.mapper = vtk.vtkMapper.newInstance({ scalarVisibility: false });
    this.mapper.setInputData(this.data);
    this.actor = vtk.vtkActor.newInstance();
    this.actor.setMapper(this.mapper);
    this.actor.addTexture(this.texture);
    plain(this.actor, [1, 1, 1]);
  }

  /** Gives each owner its colour; rgba : four bytes per owner. */
  paint(rgba) {
    this.texels.set(rgba.subarray(0, this.texels.length));
    this.scalars.modified();
    this.image.modified();
    this.texture.modified();
  }

  /** Colours points or polygons themselves, whoever owns them: rgba of each; null goes back to the owners. */
  paintEach(vtk, rgba, association) {
    const [points, cells] = [this.data.getPointData(), this.data.getCellData()];
    this.mapper.setScalarVisibility(rgba !== null);
    if (rgba === null) {
      if (!this.actor.getTextures().length) this.actor.addTexture(this.texture);
      return;
    }
    this.actor.removeTexture(this.texture);
    const values = association === 'point' ? this.#copies(rgba) : rgba;
    const scalars = vtk.vtkDataArray.newInstance({ name: 'each', numberOfComponents: 4, values });
    points.setScalars(association === 'point' ? scalars : null);
    cells.setScalars(association === 'point' ? null : scalars);
    this.mapper.setColorModeToDirectScalars();
    this.mapper.setScalarMode(association === 'point' ? 1 : 2);
    this.data.modified();
  }

  #copies(rgba) {
    const out = new Uint8Array(4 * this.pointOwners.length);
    out.set(rgba);
    for (const [copy, origin] of this.pointOwners.copies) {
      out.copyWithin(4 * copy, 4 * origin, 4 * origin + 4);
    }
    return out;
  }

  /** Moves the points: moved(owner) is what is added to the owner's points as they were sent. */
  move(moved) {
    move(this, moved);
    this.balls = null;
  }

  get visible() {
    return this.actor.getVisibility();
  }

  /** The cells of some owners, as cells of their own. */
  only(vtk, points, isOne, nOwners) {
    const [polys, owners] = [[], []];
    for (let at = 0, cell = this.firstPoly; at < this.sentPolys.length; at += this.sentPolys[at] + 1, cell += 1) {
      if (!isOne(this.owners[cell])) continue;
      polys.push(...this.sentPolys.subarray(at, at + this.sentPolys[at] + 1));
      owners.push(this.owners[cell]);
    }
    return new Cells(vtk, points, { polys: Uint32Array.from(polys) }, Int32Array.from(owners), nOwners);
  }
}

/** Takes away what lies before a plane; null: nothing. part : cells or lines; plane : {axis, at, sign}, which keeps
 * what lies in the direction of the sign. */
export function clip(vtk, part, plane) {
  const mapper = part.actor.getMapper();
  mapper.removeAllClippingPlanes();
  part.isCut = undefined;
  if (!plane) return;
  const { axis, at, sign } = plane;
  const along = (value) => [0, 1, 2].map((one) => (one === axis ? value : 0));
  mapper.addClippingPlane(vtk.vtkPlane.newInstance({ origin: along(at), normal: along(sign) }));
  part.isCut = (point) => (point[axis] - at) * sign < 0;
}

/** How many cells an array [n, p0, .., n, ..] holds. */
export function count(cells) {
  let n = 0;
  for (let at = 0; at < (cells?.length ?? 0); at += cells[at] + 1) n += 1;
  return n;
}

/** Points with one owner each: a point between two owners is copied. */
function apart(points, polys, owners, nOwners) {
  const n = points.length / 3;
  const of = new Int32Array(n).fill(-1);
  const copies = new Map(); // of a point, for an owner
  const out = polys.slice();
  const more = [];
  for (let at = 0, cell = 0; at < polys.length; at += polys[at] + 1, cell += 1) {
    for (let corner = at + 1; corner <= at + polys[at]; corner += 1) {
      const point = polys[corner];
      if (of[point] === -1) of[point] = owners[cell];
      if (of[point] === owners[cell]) continue;
      const key = point * nOwners + owners[cell];
      if (!copies.has(key)) {
        copies.set(key, n + more.length);
        more.push([point, owners[cell]]);
      }
      out[corner] = copies.get(key);
    }
  }
  const all = new Float32Array(points.length + 3 * more.length);
  all.set(points);
  const whose = new Int32Array(n + more.length);
  for (let point = 0; point < n; point += 1) whose[point] = Math.max(of[point], 0);
  more.forEach(([point, owner], index) => {
    all.set(points.subarray(3 * point, 3 * point + 3), 3 * (n + index));
    whose[n + index] = owner;
  });
  return [all, out, Object.assign(whose, { copies: more.map(([point], index) => [n + index, point]) })];
}

/** Lines of one colour; owners : of each line, if they are to be moved. */
export class Lines {
  /** @type {Float32Array} */
  points;
  /** @type {Uint32Array} */
  lines;
  pointOwners = null;

  constructor(vtk, points, lines, colour, opacity = 1, owners = null) {
    const nOwners = owners?.reduce((most, owner) => Math.max(most, owner), 0) + 1;
    const parts = owners ? apart(points, lines, owners, nOwners) : [points, lines, null];
    [this.points, this.lines, this.pointOwners] = parts;
    this.owners = owners;
    this.data = vtk.vtkPolyData.newInstance();
    this.data.getPoints().setData(this.points, 3);
    this.data.getLines().setData(this.lines);
    const mapper = vtk.vtkMapper.newInstance({ scalarVisibility: false });
    mapper.setResolveCoincidentTopologyToPolygonOffset();
    mapper.setRelativeCoincidentTopologyLineOffsetParameters(-1, -1);
    mapper.setInputData(this.data);
    this.actor = vtk.vtkActor.newInstance();
    this.actor.setMapper(mapper);
    plain(this.actor, colour);
    this.actor.getProperty().setOpacity(opacity);
  }

  /** Moves the points: moved(owner) is what is added to the owner's points as they were sent. */
  move(moved) {
    move(this, moved);
  }
}

/** Moves the points of cells or lines. */
function move(part, moved) {
  part.sent ??= part.points.slice();
  const { sent, points, pointOwners } = part;
  const ways = []; // of each owner
  for (let n = 0; n < pointOwners.length; n += 1) {
    const way = (ways[pointOwners[n]] ??= moved(pointOwners[n]));
    for (let axis = 0; axis < 3; axis += 1) points[3 * n + axis] = sent[3 * n + axis] + way[axis];
  }
  part.data.getPoints().modified();
  part.data.modified();
}

/** Pure colours, as the legend shows them: no light changes them. */
function plain(actor, colour) {
  actor.getProperty().set({ ambient: 1, diffuse: 0, specular: 0 });
  actor.getProperty().setColor(...colour);
  actor.getProperty().setAmbientColor(...colour);
}

/** A view on a picture. Events: onPick(hit), onHover(hit or null, event), onOverlay(context, lens),
 * onMove(). */
export class View3d {
  width = 0; // in pixels
  height = 0;

  constructor(vtk, stage) {
    this.stage = stage;
    this.vtk = vtk;
    this.cells = []; // what a pick may hit
    this.isPainted = false; // nothing is drawn before it has its colours
    this.onPick = this.onHover = this.onOverlay = this.onMove = nothing;
    this.renderer = vtk.vtkRenderer.newInstance();
    this.recolour();
    this.window = vtk.vtkRenderWindow.newInstance();
    this.window.addRenderer(this.renderer);
    this.gl = vtk.vtkOpenGLRenderWindow.newInstance();
    this.window.addView(this.gl);
    this.gl.setContainer(stage);
    this.overlay = stage.appendChild(document.createElement('canvas'));
    this.overlay.className = 'overlay';
    this.overlay.setAttribute('aria-hidden', 'true');
    const drawn = stage.querySelector('canvas');
    drawn.setAttribute('role', 'img');
    drawn.setAttribute('aria-label', "the mesh: each rank's piece in the colour of its value");
    const interactor = vtk.vtkRenderWindowInteractor.newInstance();
    interactor.setView(this.gl);
    interactor.setInteractorStyle(vtk.vtkTrackballCamera.newInstance());
    interactor.initialize();
    interactor.bindEvents(stage);
    this.camera = this.renderer.getActiveCamera();
    this.camera.onModified(() => {
      this.onMove();
      this.#later();
    });
    this.#listen();
    new ResizeObserver(() => this.resize()).observe(stage);
    this.resize();
  }

  /** Whether the browser can draw in 3-D at all. */
  static possible() {
    const context = document.createElement('canvas').getContext('webgl2');
    context?.getExtension('WEBGL_lose_context')?.loseContext(); // a browser allows few of them
    return context !== null;
  }

  /** Takes the background of the page. */
  recolour() {
    this.renderer.setBackground(
      ...ink('--card')
        .match(/\d+/g)
        .map((part) => Number(part) / 255),
    );
  }

  add(part, canBePicked = false) {
    this.renderer.addActor(part.actor);
    if (canBePicked) this.cells.push(part);
    return part;
  }

  remove(part) {
    this.renderer.removeActor(part.actor);
    this.cells = this.cells.filter((other) => other !== part);
    part.actor.delete();
  }

  /** Points the camera at the picture, which is drawn soon. */
  look(points, direction, up, parallel) {
    this.#aim = [points, direction, up, parallel];
    this.camera.setParallelProjection(parallel);
    fit(this.camera, points, direction, up, this.width / this.height);
    this.#isLate = true;
    this.#later();
  }

  /** Goes back to the camera of the last `look`. */
  reset() {
    if (this.#aim) this.look(...this.#aim);
  }

  /** Where the camera is. */
  get place() {
    const { camera } = this;
    return {
      position: camera.getPosition(),
      focalPoint: camera.getFocalPoint(),
      viewUp: camera.getViewUp(),
      viewAngle: camera.getViewAngle(),
      parallelScale: camera.getParallelScale(),
      parallelProjection: camera.getParallelProjection(),
    };
  }

  /** Takes over the place of another view's camera. */
  follow(place) {
    this.camera.set(place);
    this.#turned = true;
    this.#isLate = true;
    this.#later();
  }

  get lens() {
    return new Lens(this.camera, this.width, this.height);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width || !height || (width === this.width && height === this.height)) return;
    const wasLooking = this.#aim && !this.#turned;
    [this.width, this.height] = [width, height];
    const ratio = window.devicePixelRatio || 1;
    this.gl.setSize(Math.round(width * ratio), Math.round(height * ratio));
    this.overlay.width = Math.round(width * ratio);
    this.overlay.height = Math.round(height * ratio);
    if (wasLooking) this.reset();
    this.draw();
  }

  /** Draws cells and overlay, at once. */
  draw() {
    this.#isLate = false;
    if (!this.width || !this.isPainted) return;
    this.renderer.resetCameraClippingRange();
    this.window.render();
    this.drawOverlay();
  }

  drawOverlay() {
    const context = this.overlay.getContext('2d');
    const ratio = this.overlay.width / this.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.onOverlay(context, this.lens);
  }

  /** What lies below a pixel: {part, cell}, or null. */
  under(x, y) {
    const ray = this.lens.ray(x, y);
    let best = null;
    for (const part of this.cells) {
      if (!part.visible) continue;
      part.balls ??= balls(part.points, part.polys);
      const hit = firstHit(ray, part.points, part.polys, part.balls, part.isCut);
      if (hit && (!best || hit.distance < best.distance - 1e-9)) best = { ...hit, part };
    }
    if (best) best.cell += best.part.firstPoly;
    return best;
  }

  #aim = null;
  #turned = false;
  #scheduled = false;
  #isLate = false; // cells are to be drawn, too

  #later() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      if (this.#isLate) this.draw();
      else this.drawOverlay();
    });
  }

  #listen() {
    let began = null;
    const place = (event) => placeIn(this.stage, event);
    const moved = (event) =>
      began && Math.hypot(event.clientX - began[0], event.clientY - began[1]) > DRAG_PIXELS;
    this.stage.addEventListener(
      'pointerdown',
      (event) => {
        began = [event.clientX, event.clientY];
      },
      true,
    );
    this.stage.addEventListener(
      'pointerup',
      (event) => {
        if (began && !moved(event) && event.button === 0) this.onPick(this.under(...place(event)));
        if (moved(event)) this.#turned = true;
        began = null;
      },
      true,
    );
    this.stage.addEventListener('wheel', () => (this.#turned = true), { capture: true, passive: true });
    this.stage.addEventListener('pointerleave', () => this.onHover(null));
    let waiting = null;
    this.stage.addEventListener('pointermove', (event) => {
      const isFirst = waiting === null;
      waiting = event;
      if (!isFirst) return;
      requestAnimationFrame(() => {
        const last = waiting;
        waiting = null;
        this.onHover(moved(last) ? null : this.under(...place(last)), last);
      });
    });
  }
}
