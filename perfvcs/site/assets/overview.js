"use strict";
// The overview below a history: all commits on one line, and a window over those in sight that can be moved and drawn wider.
var perf = globalThis.perf || {};
perf.Overview = (() => {
  const {node, round, ruler, ends, position} = perf.plot;
  const HEIGHT = 64, EDGE = 9; // pixels; those about an edge take hold of it

  return class Overview {
    constructor(history, left, fewest) {
      Object.assign(this, {history, left, fewest, grip: null});
      this.figure = node("svg", {class: "overview", "aria-hidden": "true"});
      this.figure.addEventListener("pointerdown", event => this.#take(event));
      this.figure.addEventListener("pointermove", event => { if (this.grip) this.#move(event); });
      for (const end of ["pointerup", "pointercancel"]) this.figure.addEventListener(end, () => { this.grip = null; });
    }

    render() {
      const {history: {state, shown, last, series, bend}, left} = this, {right} = this.history.frame, {layers} = perf;
      const scale = ruler(-0.5, last + 0.5, left, right), x = place => scale(bend(place)), height = HEIGHT - 4;
      const {logarithmic} = state, y = ruler(...ends(shown.flatMap(track => track.points), series.frame.values.rule, {logarithmic, bounds: false}), HEIGHT - 8, 14, logarithmic);
      const from = round(scale(state.from)), to = round(scale(state.to));
      this.x = scale;
      this.figure.setAttribute("viewBox", `0 0 ${state.width} ${HEIGHT}`);
      this.figure.setAttribute("height", HEIGHT);
      this.figure.replaceChildren(
        node("rect", {class: "ground", x: left, y: 2, width: Math.max(0, right - left), height}),
        ...shown.map(track => node("g", {class: `track${track.turn}`}, layers.line(track.points, {x, y}))),
        ...shown.flatMap(track => track.marks).map(step => node("path", {class: `mark ${step.look}`, d: layers.shape(step, x(step.x), 8, 4)})),
        ...[[left, from], [to, right]].map(([start, end]) => node("rect", {class: "shade", x: start, y: 2, width: Math.max(0, round(end - start)), height})),
        node("rect", {class: "window", x: from, y: 2, width: Math.max(2, round(to - from)), height}),
        ...[from, to].map(at => node("rect", {class: "handle", x: at - 3, y: HEIGHT / 2 - 11, width: 6, height: 22, rx: 2})),
      );
    }

    #take(event) {
      const [at] = position(this.figure, event), commit = this.x.back(at), {history, x} = this, {state} = history;
      const kind = ["from", "to"].find(edge => Math.abs(x(state[edge]) - at) < EDGE) || "window", half = (state.to - state.from) / 2;
      if (kind === "window" && (commit < state.from || commit > state.to)) history.zoom(commit - half, commit + half);
      this.grip = {kind, from: state.from, to: state.to, commit};
      perf.gestures.capture(this.figure, event);
    }

    #move(event) {
      const {kind, from, to, commit} = this.grip, now = this.x.back(position(this.figure, event)[0]), {history, fewest} = this;
      if (kind === "window") history.zoom(from + now - commit, to + now - commit);
      else if (kind === "from") history.zoom(Math.min(now, to - fewest), to);
      else history.zoom(from, Math.max(now, from + fewest));
    }
  };
})();
