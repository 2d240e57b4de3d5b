"use strict";
// The layers of a history, each from what is in sight to elements of SVG; `frame` has the borders and the scales `x` and `y`.
var perf = globalThis.perf || {};
perf.layers = (() => {
  const {node, round, mark} = perf.plot, {changed} = perf.words;
  const WHISKERS = 9; // pixels between commits from which on each has a whisker of its own; nearer ones share a band
  const LETTER = 7, AIR = 8; // pixels of a letter of an effect, and between effects
  const NEAR = 1e-6; // commits
  const MARK = 16, ROW = 15, ROWS = 8; // pixels of the row of marks and of one of effects, and how many of these there are at most

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

  // No line leads over a gap.
  const line = (points, {x, y}) => node("path", {class: "line",
    d: points.map((point, turn) => `${turn && !point.fresh ? "L" : "M"}${round(x(point.x))},${round(y(point.level))}`).join("")});

  // Fewer than three executions have no interval: their mark is hollow.
  function values(points, frame) {
    const {x, y} = frame, r = (frame.right - frame.left) / points.length < 5 ? 1.6 : 2.8;
    const shapes = (few, kind) => node("path", {class: kind, d: few.map(point => mark("circle", x(point.x), y(point.level), r)).join("")});
    const far = points.filter(point => y(point.level) < frame.top - r || y(point.level) > frame.bottom + r), near = points.filter(point => !far.includes(point));
    const arrow = point => y(point.level) < frame.top ? mark("up", x(point.x), frame.top, 4) : mark("down", x(point.x), frame.bottom, 4);
    return [line(points, frame), shapes(near.filter(point => point.low != null), "dot"), shapes(near.filter(point => point.low == null), "dot alone"),
      far.length ? node("path", {class: "far", d: far.map(arrow).join("")}) : null];
  }

  // Horizontal lines at the levels, and what leads from one to the next: upright at a step.
  function means({lines, marks}, {x, y}) {
    const level = one => `M${round(x(one.left))},${round(y(one.level))}H${round(x(one.right - NEAR))}`; // an edge belongs to the commit after it
    const rise = one => `M${round(x(one.left))},${round(y(one.before))}L${round(x(one.right))},${round(y(one.after))}`;
    return node("path", {class: "level", d: [...lines.map(level), ...marks.map(rise)].join("")});
  }

  // The effects of all steps in sight, each in the lowest row above the figure where it has room beside the others and the label of the axis;
  // `height` is what the rows take.
  function labels(tracks, {x, left, right}, label) {
    const places = new Map(), ends = [LETTER * label.length + AIR / 2], found = [];
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

  // The name of each environment beside its newest value in sight, none above another.
  function names(lines, {x, y, right, bottom}) {
    const ends = lines.filter(({points}) => points.length).map(({track, points}) => ({track, at: y(points.at(-1).level)})).sort((a, b) => a.at - b.at);
    let free = -Infinity;
    for (const end of ends) { end.at = Math.max(end.at, free); free = end.at + ROW; }
    for (let turn = ends.length - 1, most = bottom; turn >= 0; turn--, most -= ROW) ends[turn].at = Math.min(ends[turn].at, most);
    return ends.map(({track, at}) => node("text", {class: `name track${track.turn}`, x: right + 8, y: round(at) + 4}, track.brief));
  }

  // What the marks of a figure mean, of those that it has; last the arrows, which it has on some of its axes.
  function key(tracks, tags) {
    const points = tracks.flatMap(track => track.points), marks = tracks.flatMap(track => track.marks), middle = 7;
    const swatch = (...drawn) => node("svg", {width: 22, height: 14, "aria-hidden": "true"}, ...drawn);
    const circle = kind => node("path", {class: kind, d: mark("circle", 11, middle, 3)});
    return [
      points.some(point => point.low != null) && [swatch(node("path", {class: "whisker", d: "M11,1V13M8,1h6M8,13h6"}), circle("dot")), "a commit with its 99 % interval"],
      points.some(point => point.low == null) && [swatch(circle("dot alone")), "fewer than three executions: no interval"],
      tracks.some(track => track.lines.length) && [swatch(node("path", {class: "level", d: `M1,${middle}H21`})), "level"],
      ...Object.keys(perf.verdicts).filter(look => marks.some(step => step.look === look)).map(look =>
        [swatch(node("path", {class: `mark ${look}`, d: mark(look, 11, middle, 5)})), look === "accepted" ? "accepted change" : `lasting ${look}`]),
      marks.some(step => step.last - step.first > 1) && [swatch(node("rect", {class: "doubt", width: 22, height: 14})), "the change may be any of these commits"],
      tags.length && [swatch(node("line", {class: "release", x1: 11, x2: 11, y1: 0, y2: 14})), "release"],
      tracks.some(track => track.began) && [swatch(node("g", {class: "cut"}, node("line", {x1: 11, x2: 11, y1: 0, y2: 14}))), "begins anew"],
      [swatch(node("path", {class: "far", d: mark("up", 11, 2, 4)})), "a value beyond the axis"],
    ].filter(Boolean);
  }

  const shape = (step, x, y, r) => mark(step.look, x, y, r);

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

  return {bounds, line, values, means, labels, marks, names, key, shape};
})();
