"use strict";
// Figures that the reader asks for, drawn from numbers that travel in the page: dots of all executions, or lines over sizes.
(() => {
  const place = document.getElementById("further");
  if (!place) return;
  const WIDTH = 560, LEFT = 70, RIGHT = 12, SIDES = ["baseline", "target"];
  const choice = document.querySelector(".further select"), drawn = document.querySelector(".further .asked");
  const node = (name, attributes, ...inside) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };
  const html = (name, text) => Object.assign(document.createElement(name), {textContent: text});
  const ends = values => {
    const low = Math.min(...values), high = Math.max(...values), room = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
    return [low - room, high + room];
  };
  const ticks = ([low, high]) => {
    const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map(times => times * power).find(one => one >= rough);
    return Array.from({length: 6}, (_, turn) => (Math.ceil(low / step) + turn) * step).filter(value => value <= high);
  };
  const written = value => Number(value.toPrecision(4)).toLocaleString("en", {maximumFractionDigits: 10});
  const ruler = ([low, high], from, to) => value => (from + (value - low) / (high - low) * (to - from)).toFixed(1);
  const text = (x, y, anchor, words) => node("text", {x, y, "text-anchor": anchor}, words);
  const dot = (x, y, side) => side === "target" ? node("rect", {class: side, x: x - 3.5, y: y - 3.5, width: 7, height: 7}) : node("circle", {class: side, cx: x, cy: y, r: 4});
  const names = one => one.sides.length > 1 ? SIDES : ["target"];
  function executions(one) {
    const range = ends(one.sides.flat()), x = ruler(range, LEFT, WIDTH - RIGHT), bottom = 26 + 40 * one.sides.length;
    const axis = ticks(range).flatMap(value => [node("line", {class: "grid", x1: x(value), x2: x(value), y1: 8, y2: bottom}), text(x(value), bottom + 16, "middle", written(value))]);
    const rows = one.sides.flatMap((values, row) => [
      text(LEFT - 10, 32 + 40 * row, "end", one.sides.length > 1 ? SIDES[row] : ""),
      ...values.map((value, turn) => dot(x(value), 28 + 40 * row + (turn * 7 % 5 - 2) * 4, names(one)[row])),
    ]);
    return [bottom + 40, ...axis, ...rows, text((LEFT + WIDTH) / 2, bottom + 34, "middle", `${one.metric}${one.unit && ` (${one.unit})`}`)];
  }
  function sizes(one) {
    const across = ends(one.sizes.flat()), up = ends(one.sides.flat()), bottom = 220, x = ruler(across, LEFT, WIDTH - RIGHT), y = ruler(up, bottom, 24);
    const grid = ticks(up).flatMap(value => [node("line", {class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value)}), text(LEFT - 8, Number(y(value)) + 4, "end", written(value))]);
    const axis = ticks(across).map(value => text(x(value), bottom + 16, "middle", written(value)));
    const lines = one.sides.flatMap((values, row) => [
      node("polyline", {class: names(one)[row], points: values.map((value, turn) => `${x(one.sizes[row][turn])},${y(value)}`).join(" ")}),
      ...values.map((value, turn) => dot(x(one.sizes[row][turn]), y(value), names(one)[row])),
    ]);
    return [bottom + 40, ...grid, ...axis, ...lines, text((LEFT + WIDTH) / 2, bottom + 34, "middle", "size"), text(8, 14, "start", `${one.metric}${one.unit && ` (${one.unit})`}`)];
  }
  function draw(one) {
    const [height, ...parts] = one.sizes ? sizes(one) : executions(one);
    const figure = document.createElement("figure"), title = `${one.name}: ${one.metric}`;
    const legend = one.sides.length > 1 && one.sizes ? [html("p", "circles: baseline, squares: target")] : [];
    figure.append(html("h3", title), ...(one.said ? [html("p", one.said)] : []), ...legend);
    figure.append(node("svg", {viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${title}. ${one.said}`}, ...parts));
    return figure;
  }
  unpack(place).then(packed => {
    const found = JSON.parse(packed);
    choice.append(...found.map((one, number) => Object.assign(html("option", `${one.name}: ${one.metric}`), {value: number})));
    choice.addEventListener("change", () => {
      if (choice.value !== "") drawn.prepend(draw(found[Number(choice.value)]));
      document.documentElement.dataset.asked = drawn.children.length;
    });
  });
})();
