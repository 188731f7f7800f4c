// SPDX-License-Identifier: BSD-3-Clause
// node build.js FOLDER OUT: bundles exports.js of FOLDER, beside its node_modules, into the file OUT, which begins
// with the licences of all it holds. The same package-lock.json gives the same bytes.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const folder = resolve(process.argv[2]);
const { build } = createRequire(join(folder, 'package.json'))('esbuild');
const made = await build({
  absWorkingDir: folder,
  entryPoints: ['exports.js'],
  bundle: true,
  format: 'esm',
  minify: true,
  target: 'es2020',
  legalComments: 'none', // the licences are at the head, whole
  metafile: true,
  write: false,
});

/** Name, version and licence of the package in a folder. A package without a licence file has it in its source. */
function licenceOf(path) {
  const about = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  const file = readdirSync(path)
    .sort()
    .find((name) => /^licen[cs]e/i.test(name));
  let text = file && readFileSync(join(path, file), 'utf8').trim();
  const source = [about.main, `${about.name}.js`].map((name) => join(path, name ?? '')).filter(existsSync);
  for (const name of source.filter((name) => name.endsWith('.js'))) {
    text ??= readFileSync(name, 'utf8')
      .match(/\/\*[^]*?copyright[^]*?\*\//i)?.[0]
      .slice(2, -2)
      .trim();
  }
  return `${about.name} ${about.version} (${about.license})\n\n${text ?? 'no text of the licence in the package'}`;
}

const [output] = Object.values(made.metafile.outputs);
const used = Object.keys(output.inputs).map(
  (path) => path.match(/^.*node_modules\/(@[^/]+\/)?[^/]+(?=\/)/)?.[0],
);
const packages = [...new Set(used.filter(Boolean))].sort().map((path) => licenceOf(join(folder, path)));
const head = packages
  .join(`\n\n${'-'.repeat(80)}\n\n`)
  .replaceAll('\r', '')
  .replaceAll('*/', '* /');
writeFileSync(resolve(process.argv[3]), `/*!\n${head}\n*/\n${made.outputFiles[0].text}`);
