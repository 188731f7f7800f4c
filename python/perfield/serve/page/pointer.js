// SPDX-License-Identifier: BSD-3-Clause
// Where a pointer is, and whether it was dragged.

export const DRAG_PIXELS = 4; // a pointer that moves less was meant as a click

/** [x, y] of an event in pixels of an element. */
export function placeIn(element, event) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
