// SPDX-License-Identifier: BSD-3-Clause
// The module that page_files.py makes of the colour maps of all pictures.
export const MAPS: Record<string, string>;
