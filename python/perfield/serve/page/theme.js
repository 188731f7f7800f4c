// SPDX-License-Identifier: BSD-3-Clause
// The colours of style.css for what is drawn on canvases, in the light and in the dark.

const known = new Map();

/** A custom property of the page, as "--ink". */
export function ink(name) {
  if (!known.has(name)) {
    known.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  }
  return known.get(name);
}

/** Calls back after the reader changed between light and dark. */
export function onTheme(callback) {
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    known.clear();
    callback();
  });
}
