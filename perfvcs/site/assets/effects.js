"use strict";
// A forest of effects: every row of a page's tables gets its effect with its interval beside the numbers, all on one scale of
// log-ratios: half and double are equally far from nothing, and nothing falls by more than 100 %.
var perf = globalThis.perf || {};
perf.effects = (() => {
  const {node, element, round, ruler, mark} = perf.plot;
  const WIDTH = 220, HEIGHT = 22;

  function draw(page) {
    const cells = Array.from(page.querySelectorAll("td.forest"), cell => ({
      cell, word: cell.dataset.word, effect: ratio(cell.dataset.effect), low: ratio(cell.dataset.low), high: ratio(cell.dataset.high),
    })).filter(one => one.effect !== null);
    if (!cells.length) return;
    const sizes = cells.flatMap(one => [one.effect, one.low, one.high]).filter(each => each !== null).map(Math.abs).sort((a, b) => a - b);
    // One enormous effect must not flatten all others: it stands at the edge, its number beside it is true.
    const reach = Math.max(0.005, Math.min(sizes.at(-1), 4 * sizes[Math.floor(0.9 * (sizes.length - 1))])) * 1.06;
    const place = ruler(-reach, reach, 4, WIDTH - 4), x = effect => round(Math.max(4, Math.min(WIDTH - 4, place(effect))));
    for (const one of cells) one.cell.replaceChildren(figure(one, x));
    const ends = [-reach, 0, reach].map(one => one ? perf.number.percent(Math.expm1(one)).replace("-", "−") : "0");
    for (const head of page.querySelectorAll("th.forest")) {
      head.replaceChildren(element("span", {class: "ends"}, ...ends.map(text => element("span", {}, text))));
    }
  }

  function figure({word, effect, low, high}, x) {
    const middle = HEIGHT / 2, known = low !== null && high !== null;
    return node("svg", {width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true"},
      node("line", {class: "zero", x1: x(0), x2: x(0), y1: 0, y2: HEIGHT}),
      known ? node("line", {class: "reach", x1: x(low), x2: x(high), y1: middle, y2: middle}) : null,
      node("path", {class: `mark ${word}`, d: mark(word, x(effect), middle, 5)}));
  }

  const LEAST = -0.999; // of what fell to nothing, as far as a scale can show it
  const ratio = text => text === undefined || text === "" || text === "None" ? null : Math.log1p(Math.max(LEAST, Number(text)));
  return {draw};
})();
