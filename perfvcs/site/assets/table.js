"use strict";
// Tables of series: columns that sort, and courses that are drawn as they come into sight, all on one axis of time.
var perf = globalThis.perf || {};
perf.table = (() => {
  const {node, element} = perf.plot;
  const LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", HEIGHT = 24, AIR = 3;
  const NEAR = 400; // pixels below what is in sight, where courses are already drawn
  const SPARSE = 2.5; // usual distances between two values, from which on no line joins them

  const EDGES = {"-": 0, "+": LEVELS.length - 1}; // of what lies far from all others

  // A line through all parts of time that have a value, with gaps where there is none for long; what lies beyond the edge has a bar there.
  function course(cell) {
    const text = cell.dataset.strip, known = [...text].flatMap((letter, x) => letter === "." ? [] : [x]);
    const gap = Math.max(2, text.length / 16, SPARSE * (known.at(-1) - known[0]) / (known.length - 1 || 1));
    let path = "", beyond = "", before = -Infinity, last = null;
    for (const x of known) {
      const letter = text[x], y = Math.round(10 * (HEIGHT - AIR - (EDGES[letter] ?? LEVELS.indexOf(letter)) / (LEVELS.length - 1) * (HEIGHT - 2 * AIR))) / 10;
      if (letter in EDGES) beyond += `M${x - 0.5},${y}h2`;
      path += `${x - before > gap ? "M" : "L"}${x + 0.5},${y}${x - before > gap ? "h.01" : ""}`;
      [before, last] = [x, [x + 0.5, y]];
    }
    if (!last) return;
    cell.replaceChildren(node("svg", {viewBox: `0 0 ${text.length} ${HEIGHT}`, preserveAspectRatio: "none", height: HEIGHT, "aria-hidden": "true"},
      node("path", {class: "line", d: path}), beyond ? node("path", {class: "beyond", d: beyond}) : null, node("path", {class: "end", d: `M${last}h.01`})));
  }

  // Draws the courses of a page as they come near.
  function draw(cells) {
    const watch = new IntersectionObserver(seen => {
      for (const {target, isIntersecting} of seen) if (isIntersecting) { watch.unobserve(target); course(target); }
    }, {rootMargin: `${NEAR}px`});
    for (const cell of cells) watch.observe(cell);
  }

  const value = (row, column, kind) => {
    const cell = row.cells[column];
    return kind === "number" ? (cell.dataset.v === undefined ? null : Number(cell.dataset.v)) : cell.textContent.trim().toLowerCase() || null;
  };

  // The rows by a column; those without a value stay last, equal ones in their order.
  function sort(table, head, descending) {
    const column = head.cellIndex, kind = head.dataset.sort, body = table.tBodies[0], sign = descending ? -1 : 1;
    const rows = Array.from(body.rows, row => [row, value(row, column, kind)]);
    rows.sort(([, a], [, b]) => a === null || b === null ? (a === null) - (b === null) : a < b ? -sign : a > b ? sign : 0);
    body.append(...rows.map(([row]) => row));
    for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  }

  // Numbers sort from the largest at first, words from a.
  function make(table) {
    for (const head of table.querySelectorAll("th[data-sort]")) {
      const button = element("button", {type: "button", class: "sort"}, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        sort(table, head, now ? now === "ascending" : head.dataset.sort === "number");
      });
    }
  }

  // Adds the rows that are in a script of their own, where there are any.
  function complete(list) {
    if (!list.dataset.further) return Promise.resolve();
    return perf.plot.script(list.dataset.further).then(() => {
      ["live", "ended"].forEach((id, turn) => document.getElementById(id)?.tBodies[0].insertAdjacentHTML("beforeend", perf.table.rows[turn]));
    }, () => list.append(element("p", {role: "alert"}, "The other rows cannot be loaded: reload the page, or publish the site again.")));
  }

  return {make, draw, complete};
})();
