// SPDX-License-Identifier: BSD-3-Clause
// What `make lint` asks of the page's modules: names that exist, nothing unused, nothing that is surely a slip.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const js = createRequire(join(process.cwd(), 'build/page-checks/package.json'))('@eslint/js');
const BROWSER = [
  ...['AbortController', 'Blob', 'CustomEvent', 'DecompressionStream', 'DataView', 'HTMLElement', 'KeyboardEvent'],
  ...['MouseEvent', 'OffscreenCanvas', 'Option', 'Path2D', 'ResizeObserver', 'Response', 'TextDecoder', 'URL'],
  ...['URLSearchParams', 'atob', 'clearTimeout', 'console', 'document', 'fetch', 'getComputedStyle', 'navigator'],
  ...['performance', 'requestAnimationFrame', 'setTimeout', 'window', 'ImageData', 'Image', 'XMLSerializer'],
];

export default [
  { ignores: ['**/vtk.js'] },
  {
    ...js.configs.recommended,
    languageOptions: {
      ecmaVersion: 2022,
      globals: Object.fromEntries(BROWSER.map((name) => [name, 'readonly'])),
    },
    rules: {
      ...js.configs.recommended.rules,
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': ['error', { destructuring: 'all' }],
    },
  },
];
