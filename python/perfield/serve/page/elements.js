// SPDX-License-Identifier: BSD-3-Clause
// Elements of index.html, which says of which kind each is.

/** The element with an id. @type {(id: string) => any} */
export const get = (id) => document.getElementById(id);

/** All elements that a selector finds. @type {(selector: string) => any[]} */
export const all = (selector) => [...document.querySelectorAll(selector)];
