"use strict";
// What can be taken out of a page: a figure as SVG or PNG, its values as CSV, and texts for the clipboard.
var perf = globalThis.perf || {};
perf.saving = (() => {
  const {element, node} = perf.plot;
  const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "font", "paint-order"];
  const SHARP = 2; // pixels of a picture for each of the page

  function download(blob, name) {
    const link = element("a", {href: URL.createObjectURL(blob), download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  // A figure with its colours, which else are in the style sheet.
  function drawing(figure) {
    const copy = figure.cloneNode(true), own = [...figure.querySelectorAll("*")];
    [...copy.querySelectorAll("*")].forEach((made, turn) => {
      const look = getComputedStyle(own[turn]);
      if (/^(path|line|rect|circle|text)$/.test(made.localName)) for (const name of LOOKS) made.style.setProperty(name, look.getPropertyValue(name));
      made.removeAttribute("class");
    });
    const {width, height} = figure.viewBox.baseVal;
    for (const [name, value] of Object.entries({xmlns: "http://www.w3.org/2000/svg", width, height})) copy.setAttribute(name, value);
    for (const name of ["class", "tabindex", "role"]) copy.removeAttribute(name);
    copy.prepend(node("rect", {width, height, fill: getComputedStyle(document.body).backgroundColor}));
    return {text: new XMLSerializer().serializeToString(copy), width, height};
  }

  const svg = (figure, name) => download(new Blob([drawing(figure).text], {type: "image/svg+xml"}), `${name}.svg`);

  function png(figure, name) {
    const {text, width, height} = drawing(figure), picture = new Image();
    picture.addEventListener("load", () => {
      const canvas = element("canvas", {width: SHARP * width, height: SHARP * height});
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(blob => download(blob, `${name}.png`));
    });
    picture.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
  }

  // A text that a spreadsheet would evaluate has an apostrophe before it.
  function cell(value) {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  const csv = (rows, name) => download(new Blob([rows.map(row => `${row.map(cell).join(",")}\r\n`).join("")], {type: "text/csv"}), `${name}.csv`);

  // Into the clipboard, also where the browser gives pages from a disk none.
  function copy(text, button) {
    const done = () => { button.textContent = "copied"; };
    const byHand = () => {
      const box = element("textarea", {class: "unseen"});
      button.after(box);
      box.value = text;
      box.select();
      if (document.execCommand("copy")) done();
      box.remove();
      button.focus();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand); else byHand();
  }

  // A button that says one word.
  function button(label, press, title) {
    const made = element("button", {type: "button", class: "chip", title}, label);
    made.addEventListener("click", () => press(made));
    return made;
  }

  return {svg, png, csv, copy, button};
})();
