"use strict";
// What all figures share: elements of SVG, scales, axes, marks and the box that tells the numbers behind a mark. Colours are the style sheet's.
var perf = globalThis.perf || {};
perf.plot = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const AXIS = 62, LONGEST = 8; // pixels that the numbers of a value axis take, and characters that have room there
  const NEIGHBOURS = 5; // values that the median is taken of
  const {verdicts} = perf;
  // A mark of radius r about a point, as the data of a path: shapes tell verdicts apart where colours do not.
  const MARKS = {
    circle: (x, y, r) => `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
    triangle: (x, y, r) => `M${x - r},${y + r}L${x + r},${y + r}L${x},${y - r}z`,
    inverted_triangle: (x, y, r) => `M${x - r},${y - r}L${x + r},${y - r}L${x},${y + r}z`,
    diamond: (x, y, r) => `M${x},${y - r}L${x + r},${y}L${x},${y + r}L${x - r},${y}z`,
    up: (x, y, r) => `M${x - r},${y + r}L${x},${y}L${x + r},${y + r}M${x},${y}v${2.5 * r}`,
    down: (x, y, r) => `M${x - r},${y - r}L${x},${y}L${x + r},${y - r}M${x},${y}v${-2.5 * r}`,
    left: (x, y, r) => `M${x + r},${y - r}L${x},${y}L${x + r},${y + r}`,
    right: (x, y, r) => `M${x - r},${y - r}L${x},${y}L${x - r},${y + r}`,
    square: (x, y, r) => `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
  };
  MARKS.square_pin = MARKS.square;

  function node(kind, attributes, ...children) {
    const made = document.createElementNS(SVG, kind);
    for (const [name, value] of Object.entries(attributes || {})) if (value != null) made.setAttribute(name, value);
    made.append(...children.filter(child => child != null));
    return made;
  }
  function element(kind, attributes, ...children) {
    const made = document.createElement(kind);
    for (const [name, value] of Object.entries(attributes || {})) if (value != null && value !== false) made.setAttribute(name, value);
    made.append(...children.filter(child => child != null));
    return made;
  }
  const waiting = {};
  // A script of the site's own, once; one that does not come is asked for again.
  function script(address) {
    return waiting[address] ??= new Promise((done, fail) => {
      const made = element("script", {src: address});
      made.addEventListener("load", done);
      made.addEventListener("error", () => { delete waiting[address]; fail(new Error(address)); });
      document.head.append(made);
    });
  }
  const round = value => Math.round(value * 10) / 10;
  const mark = (word, x, y, r) => (MARKS[verdicts[word]?.shape || word] || MARKS.circle)(round(x), round(y), r);

  // A function from low..high to from..to, and back again as `.back`; logarithmic where asked for and possible.
  function ruler(low, high, from, to, logarithmic = false) {
    const bend = logarithmic ? Math.log : Number, unbend = logarithmic ? Math.exp : Number;
    const start = bend(low), span = bend(high) - start || 1;
    const place = value => from + (bend(value) - start) / span * (to - from);
    place.back = pixel => unbend(start + (pixel - from) / (to - from || 1) * span);
    return place;
  }

  // The ends of a scale that a value or two far from those around them do not flatten: usual_range of perfvcs/text/characters.py.
  function usual(values, least) {
    const [low, high] = [Math.min, Math.max].map(end => values.reduce((a, b) => end(a, b))), around = NEIGHBOURS >> 1;
    if (values.length < NEIGHBOURS) return [low, high];
    const medians = values.map((_, turn) => values.slice(Math.max(0, turn - around), turn + around + 1).sort((a, b) => a - b)).map(each => each[each.length >> 1]);
    const [lowest, highest] = [Math.min, Math.max].map(end => [...medians, values[0], values.at(-1)].reduce((a, b) => end(a, b)));
    const span = Math.max(highest - lowest, least);
    return [Math.max(low, lowest - span), Math.min(high, highest + span)];
  }

  // The ends of a value axis for what is in sight, by the rule of perfvcs/pictures/frame.py; a test holds both together.
  function ends(points, {least, room, air, log_air: power}, {zero = false, logarithmic = false, bounds = true} = {}) {
    if (!points.length) return logarithmic ? [1, 10] : [0, 1];
    const end = (chosen, values) => values.reduce((a, b) => chosen(a, b)), lines = new Map();
    for (const {track, level} of points) if (!lines.get(track)?.push(level)) lines.set(track, [level]);
    const ranges = Array.from(lines.values(), line => usual(line, Math.abs(line.at(-1))));
    const low = end(Math.min, ranges.map(([low]) => low)), high = end(Math.max, ranges.map(([, high]) => high));
    if (logarithmic && low > 0) {
      const beyond = Math.max(1.002, (high / low) ** power);
      return [low / beyond, high * beyond];
    }
    const narrow = least * Math.abs(low / 2 + high / 2), span = Math.max(high - low, narrow, 1e-300);
    const known = bounds ? points.filter(point => point.low != null) : [];
    const bottom = Math.max(end(Math.min, [low, ...known.map(point => point.low)]), low - room * span) - air * span;
    const top = Math.min(end(Math.max, [high, ...known.map(point => point.high)]), high + room * span) + air * span;
    const spare = Math.max(0, narrow - (top - bottom)) / 2;
    return zero ? [low < 0 ? bottom - spare : 0, Math.max(0, top + spare)] : [bottom - spare, top + spare];
  }

  // The axis of values as the page describes it: lines across into `group`, numbers and the label into `labels`, which may be a figure of its own.
  function valueAxis(group, box, place, [low, high], axis, {logarithmic = false, labels = group, label = axis.label} = {}) {
    const {number} = perf;
    for (const value of number.ticks(low, high, axis.ticks, logarithmic)) {
      const y = round(place(value));
      group.append(node("line", {class: "grid", x1: box.left, x2: box.right, y1: y, y2: y}));
      const shown = Number((value * axis.factor).toPrecision(6)), text = number.plain(shown);
      labels.append(node("text", {class: "tick", x: AXIS - 6, y: y + 4, "text-anchor": "end"}, text.length > LONGEST ? shown.toExponential().replace("+", "") : text));
    }
    labels.append(node("text", {class: "axis", x: 2, y: box.top - 16}, label));
  }

  // The box that follows the pointer; it can be pinned, so that its links can be reached.
  function tip(host) {
    const box = element("div", {class: "tip", hidden: ""});
    host.append(box);
    return {
      box,
      show(x, y, rows, pinned = false) {
        box.replaceChildren(...rows);
        box.hidden = false;
        box.classList.toggle("pinned", pinned);
        const room = host.clientWidth - box.offsetWidth - 4;
        box.style.left = `${Math.max(4, Math.min(room, x + 14 > room ? x - box.offsetWidth - 14 : x + 14))}px`;
        box.style.top = `${Math.max(0, y - box.offsetHeight - 12)}px`;
      },
      pinned: () => box.classList.contains("pinned"),
      hide() { box.hidden = true; box.classList.remove("pinned"); },
    };
  }

  // Where a pointer is within a figure, in pixels from its left and top.
  function position(figure, event) {
    const box = figure.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  // A button of a figure's own bar; `press` gets the new state.
  function toggle(label, pressed, press) {
    const button = element("button", {type: "button", class: "chip", "aria-pressed": String(pressed)}, label);
    button.addEventListener("click", () => {
      const now = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(now));
      press(now);
    });
    return button;
  }

  // Draws now, and again whenever the place has another width.
  function fitted(place, draw) {
    let width = 0;
    const fit = () => {
      const now = place.clientWidth;
      if (now && now !== width) { width = now; draw(now); }
    };
    fit(); // before anything is painted, as an observer may be asked after that
    new ResizeObserver(fit).observe(place);
  }

  return {AXIS, node, element, script, round, mark, ruler, ends, valueAxis, tip, toggle, fitted, position};
})();
