"use strict";
// The layers of a history, each from what is in sight to elements of SVG; `frame` has the borders and the scales `x` and `y`.
var perf = globalThis.perf || {};
perf.layers = (() => {
  const {node, round, mark} = perf.plot, {changed} = perf.words;
  const WHISKERS = 9; // pixels between commits from which on each has a whisker of its own; nearer ones share a band
  const LABEL = 92, LETTER = 7, AIR = 8; // pixels of a commit's label, of a letter of an effect, and between effects
  const MARK = 16, ROW = 15, ROWS = 8; // pixels of the row of marks and of one of effects, and how many of these there are at most

  function commits({commits: all, frame: {names}}, frame, {from, to}) {
    const {x, bottom} = frame, longest = Math.max(...names.map(name => name.length)), first = Math.max(0, Math.ceil(from)), last = Math.min(all.length - 1, Math.floor(to));
    const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, Math.floor((frame.right - frame.left) / Math.max(LABEL, LETTER * longest + AIR)))));
    const made = [node("line", {class: "base", x1: frame.left, x2: frame.right, y1: bottom, y2: bottom})];
    for (let turn = first; turn <= last; turn += every) {
      const at = round(x(turn));
      made.push(
        node("line", {class: "base", x1: at, x2: at, y1: bottom, y2: bottom + 4}),
        node("text", {class: "tick code", x: at, y: bottom + 17, "text-anchor": "middle"}, names[turn]),
        node("text", {class: "tick", x: at, y: bottom + 31, "text-anchor": "middle"}, all[turn].day),
      );
    }
    return made;
  }

  function bounds(points, {x, y}) {
    const known = points.filter(point => point.low != null);
    if (known.length > 1 && (x(known.at(-1).x) - x(known[0].x)) / known.length < WHISKERS) {
      const above = known.map(point => `${round(x(point.x))},${round(y(point.high))}`);
      const below = known.map(point => `${round(x(point.x))},${round(y(point.low))}`).reverse();
      return node("path", {class: "band", d: `M${[...above, ...below].join("L")}z`});
    }
    return node("path", {class: "whisker", d: known.map(point => {
      const at = round(x(point.x)), low = round(y(point.low)), high = round(y(point.high));
      return `M${at},${low}V${high}M${at - 3},${low}h6M${at - 3},${high}h6`;
    }).join("")});
  }

  const line = (points, {x, y}) => node("path", {class: "line",
    d: points.map((point, turn) => `${turn ? "L" : "M"}${round(x(point.x))},${round(y(point.level))}`).join("")});

  // A single execution has no interval: its mark is hollow.
  function values(track, points, frame) {
    const {x, y} = frame, r = x(1) - x(0) < 5 ? 1.6 : 2.8;
    const shapes = (few, kind) => node("path", {class: kind, d: few.map(point => mark(track.shape, x(point.x), y(point.level), r)).join("")});
    return [line(points, frame), shapes(points.filter(point => point.low != null), "dot"), shapes(points.filter(point => point.low == null), "dot alone")];
  }

  // Horizontal lines at the levels, and what leads from one to the next: upright for a step, slanted for a drift.
  function means({lines, marks}, {x, y}) {
    const level = one => `M${round(x(one.left))},${round(y(one.level))}H${round(x(one.right))}`;
    const rise = one => `M${round(x(one.left))},${round(y(one.before))}L${round(x(one.right))},${round(y(one.after))}`;
    return node("path", {class: "level", d: [...lines.map(level), ...marks.map(rise)].join("")});
  }

  // The effects of all steps in sight, each in the lowest row above the figure where it has room; `height` is what the rows take.
  function labels(tracks, {x, left, right}) {
    const places = new Map(), ends = [], found = [];
    for (const step of tracks.flatMap(track => track.marks)) places.set(step.x, [...places.get(step.x) || [], step]);
    for (const [place, steps] of [...places].sort(([a], [b]) => a - b)) {
      const at = x(place);
      if (at < left - 1 || at > right + 1) continue;
      const each = [...new Set(steps.map(step => step.label))];
      const words = each.slice(0, 2).join(", ") + (each.length > 2 ? " …" : ""), half = (words.length * LETTER + AIR) / 2;
      const middle = Math.max(left + half, Math.min(right - half, at)), free = ends.findIndex(end => middle - half > end);
      const row = free < 0 ? ends.length : free;
      if (row < ROWS) ends[row] = middle + half;
      found.push({steps, at, words, middle, row});
    }
    return {found, height: MARK + ROW * Math.min(ROWS, Math.max(1, ends.length))};
  }

  // An upright line wherever there are steps, with their effects above it; the commits that they may be as well are shaded.
  function marks(tracks, frame, {found}) {
    const shaded = [], lines = [], texts = [];
    for (const {steps, at, words, middle, row} of found) {
      const group = upright(at, frame, `step ${steps[0].look}`, steps.map(changed).join("\n"));
      const above = frame.top - MARK - ROW * row;
      group.append(node("path", {class: `mark ${steps[0].look}`, d: shape(steps[0], at, frame.top - 6, 5)}));
      shaded.push(...doubt(steps, frame));
      lines.push(group);
      if (row >= ROWS) continue; // what has no room is told by the mark's title and by the table
      lines.push(node("line", {class: "leader", x1: round(at), x2: round(at), y1: frame.top - 11, y2: above + 3}));
      texts.push(node("text", {class: "effect", x: round(middle), y: above, "text-anchor": "middle"}, words));
    }
    return [...shaded, ...lines, ...texts, ...tracks.flatMap(track => cut(track, frame))];
  }

  const shape = (step, x, y, r) => mark(step.look === "drift" ? step.word : step.look, x, y, r);

  function upright(at, frame, kind, words) {
    const x = round(at);
    return node("g", {class: kind}, node("title", {}, words), node("line", {x1: x, x2: x, y1: frame.top, y2: frame.bottom}));
  }

  function doubt(steps, {x, left, right, top, bottom}) {
    const first = Math.min(...steps.map(step => step.first)), last = Math.max(...steps.map(step => step.last));
    const from = Math.max(left, x(first)), to = Math.min(right, x(last));
    return last - first > 1 && from < to ? [node("rect", {class: "doubt", x: round(from), width: round(to - from), y: top, height: bottom - top})] : [];
  }

  function cut(track, frame) {
    const at = track.began && track.points.length ? frame.x(track.points[0].x - 0.5) : -Infinity;
    if (at < frame.left || at > frame.right) return [];
    const made = upright(at, frame, "cut", `begins anew: ${track.began}`);
    made.append(node("text", {x: round(at) + 4, y: frame.bottom - 5}, "begins anew"));
    return [made];
  }

  return {commits, bounds, line, values, means, labels, marks, shape};
})();
