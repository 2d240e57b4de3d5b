"use strict";
// What all figures share: elements of SVG, scales, axes, marks and the box that tells the numbers behind a mark. Colours are the style sheet's.
var perf = globalThis.perf || {};
perf.plot = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const AXIS = 62; // pixels that the numbers of a value axis take
  const SIGNS = {degradation: "▲", improvement: "▼", suspected: "◆", inconclusive: "○", same: "=", accepted: "✓", drift: "↗",
    "not comparable": "✕", new: "+", missing: "–"};
  // A mark of radius r about a point, as the data of a path: shapes tell verdicts apart where colours do not.
  const MARKS = {
    circle: (x, y, r) => `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
    up: (x, y, r) => `M${x - r},${y + r}L${x + r},${y + r}L${x},${y - r}z`,
    down: (x, y, r) => `M${x - r},${y - r}L${x + r},${y - r}L${x},${y + r}z`,
    diamond: (x, y, r) => `M${x},${y - r}L${x + r},${y}L${x},${y + r}L${x - r},${y}z`,
    square: (x, y, r) => `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
  };
  const SHAPES = {degradation: "up", improvement: "down", suspected: "diamond", accepted: "square", drift: "diamond"};

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
  const round = value => Math.round(value * 10) / 10;
  const mark = (word, x, y, r) => MARKS[SHAPES[word] || (word in MARKS ? word : "circle")](round(x), round(y), r);

  // A function from low..high to from..to, and back again as `.back`; logarithmic where asked for and possible.
  function ruler(low, high, from, to, logarithmic = false) {
    const bend = logarithmic ? Math.log : Number, unbend = logarithmic ? Math.exp : Number;
    const start = bend(low), span = bend(high) - start || 1;
    const place = value => from + (bend(value) - start) / span * (to - from);
    place.back = pixel => unbend(start + (pixel - from) / (to - from || 1) * span);
    return place;
  }

  // Low and high of values with some air; from zero where asked for. A single value gets a tenth of itself around it.
  function extent(values, {zero = false, logarithmic = false} = {}) {
    let low = Infinity, high = -Infinity;
    for (const value of values) if (value != null && Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
    if (low > high) return logarithmic ? [1, 10] : [0, 1];
    if (logarithmic && low > 0) {
      const air = Math.max(1.002, (high / low) ** 0.08);
      return [low / air, high * air];
    }
    const air = high > low ? 0.08 * (high - low) : Math.abs(high) * 0.1 || 1;
    return zero ? [Math.min(0, low), Math.max(0, high) + air] : [low - air, high + air];
  }

  // Levels with as much of their intervals as leaves room for the levels: those of few executions can be enormous.
  function bounded(points) {
    const levels = points.map(point => point.level), [low, high] = [Math.min, Math.max].map(end => levels.reduce((a, b) => end(a, b), levels[0]));
    const air = Math.max(high - low, 0.1 * Math.abs(high));
    return points.flatMap(point => point.low == null ? [point.level] : [point.level, Math.max(point.low, low - air), Math.min(point.high, high + air)]);
  }

  // The value axis: lines across into `group`, numbers with the unit above them into `labels`, which may be a figure of its own.
  function valueAxis(group, box, place, [low, high], unit, logarithmic = false, labels = group) {
    const {number} = perf, chosen = number.scale(Math.max(Math.abs(low), Math.abs(high)), unit);
    for (const value of number.ticks(low, high, Math.max(2, Math.floor((box.bottom - box.top) / 48)), logarithmic)) {
      const y = round(place(value));
      group.append(node("line", {class: "grid", x1: box.left, x2: box.right, y1: y, y2: y}));
      const text = number.plain(Number((value * chosen.factor).toPrecision(6)));
      labels.append(node("text", {class: "tick", x: AXIS - 6, y: y + 4, "text-anchor": "end"}, text));
    }
    labels.append(node("text", {class: "axis", x: 2, y: box.top - 16}, chosen.unit || "count"));
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
    new ResizeObserver(() => {
      const now = place.clientWidth;
      if (now && now !== width) { width = now; draw(now); }
    }).observe(place);
  }

  return {AXIS, SIGNS, node, element, round, mark, ruler, extent, bounded, valueAxis, tip, toggle, fitted, position};
})();
