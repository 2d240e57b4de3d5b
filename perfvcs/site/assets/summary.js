"use strict";
// The chart of changes: every cell leads on, arrow keys go from cell to cell, and each row has a line of its newest levels.
var perf = globalThis.perf || {};
perf.summary = (() => {
  const {node, element, round, ruler} = perf.plot;
  const MOVES = {ArrowUp: [-1, 0], ArrowDown: [1, 0], PageUp: [-10, 0], PageDown: [10, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    Home: [0, -Infinity], End: [0, Infinity]};
  const WIDTH = 96, HEIGHT = 24, LEAST = 0.1; // of the mean: a line's height, so that noise stays small

  function make(table) {
    const rows = [...table.querySelectorAll("tr[data-item]")];
    // Rows out of sight stay as they came: thousands of links take longer than all else.
    const near = new IntersectionObserver(entries => {
      for (const {isIntersecting, target} of entries) if (isIntersecting) finish(target);
    }, {root: table.closest(".scroll"), rootMargin: "400px"});
    const finish = row => {
      near.unobserve(row);
      if (row.dataset.done) return;
      row.dataset.done = "";
      links(row);
      row.querySelectorAll("[data-trace]").forEach(trace);
    };
    table.querySelectorAll("tbody a").forEach(link => link.setAttribute("tabindex", "-1"));
    rows.forEach(row => near.observe(row));
    addEventListener("beforeprint", () => rows.forEach(finish));
    roving(table, finish);
  }

  // All cells together are one stop of the Tab key: from there the arrows go on.
  function roving(table, finish) {
    const shown = () => [...table.querySelectorAll("tbody:not([hidden]) tr:not([hidden])")].filter(row => row.querySelector("a"));
    const stop = link => {
      table.querySelector("tbody [tabindex='0']")?.setAttribute("tabindex", "-1");
      link?.setAttribute("tabindex", "0");
    };
    const first = () => {
      if (!table.querySelector("tbody:not([hidden]) tr:not([hidden]) [tabindex='0']")) stop(shown()[0]?.querySelector("a"));
    };
    table.closest("[data-list]")?.addEventListener("filtered", first);
    first();
    table.addEventListener("focusin", event => { if (event.target.closest("tbody")) stop(event.target); });
    table.addEventListener("keydown", event => {
      const [down, right] = MOVES[event.key] || [], row = event.target.closest("tbody tr");
      if (down === undefined || !row || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      const rows = shown(), next = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(row) + down))];
      if (next.matches("[data-item]")) finish(next);
      beside([...next.querySelectorAll("a")], event.target, down, right).focus();
    });
  }

  // Of a row's links the one below or above another, or so many to its right; rows may have links in some columns only.
  function beside(links, link, down, right) {
    const column = one => one.closest("th, td").cellIndex;
    if (!down) return links[Math.max(0, Math.min(links.length - 1, links.indexOf(link) + right))];
    return links.reduce((best, one) => Math.abs(column(one) - column(link)) < Math.abs(column(best) - column(link)) ? one : best);
  }

  // The page comes with the links of cells that moved; those of all others would be most of its size. An environment may have versions of its own.
  function links(row) {
    const body = row.closest("tbody"), address = row.querySelector("th a").getAttribute("href");
    const heads = (body.querySelector("[data-at]") ? body : row.closest("table").tHead).querySelectorAll("[data-at]");
    row.querySelectorAll(".cell").forEach((cell, turn) => {
      const {at} = heads[turn].dataset;
      if (cell.firstElementChild || !at) return;
      cell.replaceChildren(element("a", {href: `${address}#${new URLSearchParams({at, in: body.dataset.in})}`, tabindex: -1}, cell.textContent));
    });
  }

  function trace(cell) {
    const values = cell.dataset.trace.split(",").filter(Boolean).map(Number);
    if (values.length < 2) return;
    const low = Math.min(...values), high = Math.max(...values), air = Math.max(0, LEAST - (high - low)) / 2;
    const x = ruler(0, values.length - 1, 3, WIDTH - 4), y = ruler(low - air, high + air, HEIGHT - 4, 4);
    const line = values.map((value, turn) => `${turn ? "L" : "M"}${round(x(turn))},${round(y(value))}`).join("");
    cell.replaceChildren(node("svg", {width: WIDTH, height: HEIGHT, role: "img",
      "aria-label": `the ${values.length} newest levels range over ${perf.number.percent(high / low - 1).replace("+", "")}`},
    node("path", {class: "line", d: line}), node("circle", {class: "dot", cx: round(x(values.length - 1)), cy: round(y(values.at(-1))), r: 2.4})));
  }

  return {make};
})();
