"use strict";
// The detailed chart of the newest versions: a mean with its 99 % interval each, and a bold line wherever one differs from the one before.
var perf = globalThis.perf || {};
perf.intervals = (() => {
  const {AXIS, node, element, round, mark, ruler, ends, valueAxis} = perf.plot, {differs, details, intervals, sight} = perf.words;
  const {percent} = perf.number;
  const NEWEST = 60, HEIGHT = 340, TOP = 40, BOTTOM = 84, LEAST = 15, ROW = 14, LETTER = 8; // versions, and pixels: of the figure, at least for a version, and of an effect

  function draw(place, series, track) {
    const points = track.points.slice(-NEWEST), left = track.points.length - points.length;
    place.replaceChildren();
    if (points.length < 2) {
      place.append(element("p", {class: "quiet"}, points.length ? "One measured commit: there is nothing to compare it with yet." : "No commit was measured here."));
      return;
    }
    const width = Math.max(place.clientWidth - AXIS, 20 + LEAST * points.length), {values} = series.frame, logarithmic = values.decades, range = ends(points, values.rule, {logarithmic});
    const frame = {left: 0, right: width - 16, top: TOP, bottom: HEIGHT - BOTTOM};
    frame.x = ruler(-0.5, points.length - 0.5, frame.left, frame.right);
    const y = ruler(...range, frame.bottom, frame.top, logarithmic);
    frame.y = value => Math.max(frame.top, Math.min(frame.bottom, y(value))); // what reaches beyond is cut off, and said
    const axis = node("svg", {width: AXIS, height: HEIGHT, "aria-hidden": "true"}); // stays where it is while the figure scrolls
    const figure = node("svg", {class: "detail", width, height: HEIGHT, role: "group", "aria-label": intervals(points)});
    valueAxis(figure, frame, frame.y, range, values, {logarithmic, labels: axis, label: values.unit || "count"});
    const effects = [];
    figure.append(
      node("line", {class: "base", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom}),
      ...points.map((point, turn) => version(series, point, turn, frame)),
      ...points.flatMap((point, turn) => turn && differs(point.word) && joined(points[turn - 1], point) ? change(points[turn - 1], point, turn, frame, effects) : []),
    );
    const scroll = element("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "detailed chart, scrolls sideways"}, figure);
    const words = sight({...series.frame, ranges: []}, points, range) + (left ? ` The ${points.length} newest of ${track.points.length} commits.` : "");
    place.append(element("div", {class: "sides"}, axis, scroll), element("p", {class: "quiet reach"}, words));
    scroll.scrollLeft = scroll.scrollWidth;
  }

  function version(series, point, turn, {x, y, bottom}) {
    const at = round(x(turn)), centre = round(y(point.level)), below = bottom + 8, alone = point.low == null;
    const label = node("text", {class: "tick code", x: at, y: below, transform: `rotate(-90 ${at} ${below}) translate(0 4)`, "text-anchor": "end"}, point.commit.short);
    const height = alone ? 0 : Math.max(1, round(y(point.low) - y(point.high)));
    return node("g", {class: "version"}, node("title", {}, details(series, point).map(line => line.textContent).join("\n")),
      alone ? null : node("rect", {class: "span", x: at - 4, width: 8, y: round(y(point.high)), height}),
      node("line", {class: alone ? "mean alone" : "mean", x1: at - 6, x2: at + 6, y1: centre, y2: centre}),
      node("a", {href: point.commit.url, tabindex: -1}, label)); // the history above has the same links for the keyboard
  }

  // Whether an effect is that of the two: one execution is compared with the level of many commits.
  const joined = (before, {effect, level}) => effect == null || Math.min(1 + effect, level, before.level) <= 0 ||
    Math.abs(Math.log1p(effect) - Math.log(level / before.level)) <= Math.abs(Math.log1p(effect)) / 2;

  // Its effect stands above those of `others` that are near; one without room is told by the version's title.
  function change(before, point, turn, {x, y}, others) {
    const high = Math.min(y(point.high ?? point.level), y(before.high ?? before.level)), middle = round(x(turn - 0.5));
    const words = point.effect == null ? "" : percent(point.effect), width = LETTER * words.length, near = one => Math.abs(one.middle - middle) < (one.width + width) / 2;
    let above = round(high - 16);
    while (above >= ROW && others.some(one => near(one) && Math.abs(one.above - above) < ROW)) above -= 1;
    others.push({middle, above, width});
    return [
      node("line", {class: `bold ${point.word}`, x1: round(x(turn - 1)), y1: round(y(before.level)), x2: round(x(turn)), y2: round(y(point.level))}),
      node("path", {class: `mark ${point.word}`, d: mark(point.word, middle, high - 8, 4)}),
      ...above < ROW ? [] : [node("text", {class: "effect", x: middle, y: above, "text-anchor": "middle"}, words)],
    ];
  }

  return {draw};
})();
