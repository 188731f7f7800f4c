// SPDX-License-Identifier: BSD-3-Clause
// Where a pointer is, whether it was dragged, and who listens at first.

export const DRAG_PIXELS = 4; // a pointer that moves less was meant as a click

/** Does nothing, where nobody listens. @type {(...given: any[]) => any} */
export const nothing = () => {};

/** [x, y] of an event in pixels of an element. */
export function placeIn(element, event) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
