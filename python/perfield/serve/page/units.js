// SPDX-License-Identifier: BSD-3-Clause
// Numbers as people read them: three digits, in a unit that suits their size (as catalyst_scripts/ticks.py).

const UNITS = {
  s: [
    [1, 's'],
    [1e3, 'ms'],
    [1e6, 'µs'],
    [1e9, 'ns'],
  ],
  B: [
    [1e-12, 'TB'],
    [1e-9, 'GB'],
    [1e-6, 'MB'],
    [1e-3, 'kB'],
    [1, 'bytes'],
  ],
};

/** [factor, name] of the unit in which numbers up to `largest` are written. */
export function unitFor(unit, largest) {
  const units = UNITS[unit] ?? [[1, unit === '1' ? '' : unit]];
  if (!largest) return unit === 'B' ? units.at(-1) : units[0];
  return units.find(([factor]) => Math.abs(largest) * factor >= 0.9995) ?? units.at(-1);
}

/** A number with three digits: "0.25", "1,500". */
export function amount(value) {
  if (value === 0) return '0';
  if (Math.abs(value) >= 999.5) return Math.round(Number(value.toPrecision(3))).toLocaleString('en');
  return Math.abs(value) < 1e-3 ? value.toPrecision(3) : String(Number(value.toPrecision(3)));
}

/** A value with its unit: "12.3 ms"; "not measured" for NaN and null. */
export function inWords(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return 'not measured';
  const [factor, name] = unitFor(unit, value);
  return `${amount(value * factor)} ${name}`.trim();
}

/** The number that a reader typed: "1,500", "2.5e3"; NaN for none. */
export function parsed(text) {
  const plain = text.trim().replaceAll(',', '');
  return plain === '' ? NaN : Number(plain);
}
