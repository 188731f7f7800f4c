# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with where things are on the page of `perfield serve`."""

BROKEN = """(() => {
  const seen = (one) => one.getClientRects().length > 0 && one.getBoundingClientRect().width > 0;
  const found = [];
  for (const row of document.querySelectorAll('.bar, .card-head, .tools, .steps, .legend')) {
    const parts = [...row.children].filter(seen).map((one) => [one, one.getBoundingClientRect()]);
    for (const [one, a] of parts) {
      if (a.right > window.innerWidth + 1 || a.left < -1) found.push(['out', one.outerHTML.slice(0, 80)]);
      for (const [other, b] of parts) {
        const [x, y] = [
          Math.min(a.right, b.right) - Math.max(a.left, b.left),
          Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top),
        ];
        if (one !== other && x > 1 && y > 1) found.push(['over', one.outerHTML.slice(0, 80)]);
      }
    }
  }
  return found;
})()"""
"""An expression in JavaScript: what lies over another thing, or beyond the window."""
