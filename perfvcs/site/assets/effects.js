"use strict";
// A forest of effects: every row of a page's tables gets its effect with its interval beside the numbers, all on one scale of
// log-ratios: half and double are equally far from nothing, and nothing falls by more than 100 %.
var perf = globalThis.perf || {};
perf.effects = (() => {
  const {node, element, round, ruler, mark} = perf.plot;
  const WIDTH = 220, HEIGHT = 22, EDGE = 14; // pixels; what lies beyond the scale has its arrow in the edge
  const FAR = 4, ROOM = 2; // times the upper quartile: an effect that would flatten the others, and where the scale then ends

  function draw(page) {
    const cells = Array.from(page.querySelectorAll("td.forest"), cell => ({
      cell, word: cell.dataset.word, effect: ratio(cell.dataset.effect), low: ratio(cell.dataset.low), high: ratio(cell.dataset.high),
    })).filter(one => one.effect !== null);
    if (!cells.length) return;
    const reach = end(cells) * 1.06, place = ruler(-reach, reach, EDGE, WIDTH - EDGE), x = effect => round(Math.max(EDGE, Math.min(WIDTH - EDGE, place(effect))));
    for (const one of cells) one.cell.replaceChildren(figure(one, x, reach));
    const ends = [-reach, 0, reach].map(one => one ? perf.number.percent(Math.expm1(one)).replace("-", "−") : "0");
    for (const head of page.querySelectorAll("th.forest")) {
      head.replaceChildren(element("span", {class: "ends"}, ...ends.map(text => element("span", {}, text))));
    }
  }

  // Where the scale of some effects ends. A few enormous ones must not flatten all others: they stand at its edge, with an arrow.
  function end(cells) {
    const moved = cells.filter(one => perf.verdicts[one.word]?.moved), sizes = (moved.length ? moved : cells).map(size).sort((a, b) => a - b);
    const usual = sizes[Math.floor(0.75 * (sizes.length - 1))], largest = sizes.at(-1);
    return Math.max(0.005, largest > FAR * usual ? ROOM * usual : largest);
  }

  const size = ({effect, low, high}) => Math.max(...[effect, low, high].filter(each => each !== null).map(Math.abs));

  function figure({word, effect, low, high}, x, reach) {
    const middle = HEIGHT / 2, known = low !== null && high !== null;
    return node("svg", {width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true"},
      node("line", {class: "zero", x1: x(0), x2: x(0), y1: 0, y2: HEIGHT}),
      known ? node("line", {class: "reach", x1: x(low), x2: x(high), y1: middle, y2: middle}) : null,
      node("path", {class: `mark ${word}`, d: mark(word, x(effect), middle, 5)}),
      Math.abs(effect) > reach ? node("path", {class: "far", d: effect > 0 ? mark("right", WIDTH - 3, middle, 4) : mark("left", 3, middle, 4)}) : null);
  }

  const LEAST = -0.999; // of what fell to nothing, as far as a scale can show it
  const ratio = text => text === undefined || text === "" || text === "None" ? null : Math.log1p(Math.max(LEAST, Number(text)));
  return {draw};
})();
