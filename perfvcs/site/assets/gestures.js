"use strict";
// What a pointer and keys do to a history: hover, pin, zoom by dragging and by the wheel, and go from commit to commit.
var perf = globalThis.perf || {};
perf.gestures = (() => {
  const {node, position} = perf.plot;
  const LEAST = 5; // pixels that make a drag of a click
  const STEPS = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity};

  function capture(figure, event) {
    try { figure.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone already */ }
  }

  function pointers(history) {
    const {main, canvas, tip} = history;
    let start = null, rubber = null;
    function over(event) {
      const point = tip.pinned() ? null : history.nearest(event);
      if (point) history.tell(point); else if (!tip.pinned()) tip.hide();
    }
    function drag(event) {
      const {frame} = history, now = Math.max(frame.left, Math.min(frame.right, position(main, event)[0]));
      if (!rubber && Math.abs(now - start) < LEAST) return;
      tip.hide();
      if (!rubber) main.append(rubber = node("rect", {class: "rubber", y: frame.top, height: frame.bottom - frame.top}));
      rubber.setAttribute("x", Math.min(now, start));
      rubber.setAttribute("width", Math.abs(now - start));
    }
    function drop(event) {
      const ends = [start, position(main, event)[0]].map(at => history.frame.x.back(at)).sort((a, b) => a - b), dragged = rubber;
      cancel();
      if (dragged) { history.zoom(...ends); return; }
      const point = history.nearest(event);
      if (point) history.tell(point, {pin: true}); else tip.hide();
    }
    function cancel() {
      rubber?.remove();
      start = rubber = null;
    }
    main.addEventListener("pointerdown", event => {
      if (event.button) return;
      [start] = position(main, event);
      capture(main, event);
    });
    main.addEventListener("pointermove", event => start === null ? over(event) : drag(event));
    main.addEventListener("pointerup", event => { if (start !== null) drop(event); });
    main.addEventListener("pointercancel", cancel);
    main.addEventListener("dblclick", () => history.whole());
    main.addEventListener("wheel", event => {
      if (!event.ctrlKey && document.activeElement !== main) return; // the page scrolls
      event.preventDefault();
      history.closer(event.deltaY > 0 ? 1.25 : 0.8, history.frame.x.back(position(main, event)[0]));
    }, {passive: false});
    canvas.addEventListener("pointerleave", () => {
      if (tip.pinned()) return;
      tip.hide();
      main.querySelector(".ring")?.remove();
    });
  }

  function keys(history) {
    const {main, tip, state} = history;
    function beside(at, by) {
      const lines = history.shown.filter(track => track.points.length), {points} = lines[(lines.indexOf(at.track) + by + lines.length) % lines.length];
      history.walk(points, points.reduce((best, point) => Math.abs(point.x - at.x) < Math.abs(best.x - at.x) ? point : best).turn);
    }
    function pin() {
      history.tell(state.at, {pin: true});
      tip.box.querySelector("a").focus();
    }
    main.addEventListener("keydown", event => {
      const step = STEPS[event.key], at = state.at ?? history.shown.find(track => track.points.length)?.points.at(-1);
      if (!at || event.ctrlKey || event.altKey || event.metaKey) return;
      if (step) history.walk(at.track.points, state.at || !Number.isFinite(step) ? at.turn + step : at.turn);
      else if (event.key === "ArrowUp" || event.key === "ArrowDown") beside(at, event.key === "ArrowUp" ? -1 : 1);
      else if (event.key === "+" || event.key === "=") history.closer(0.6, history.bend(at.x));
      else if (event.key === "-") history.closer(1 / 0.6, history.bend(at.x));
      else if (event.key === "0") history.whole();
      else if (event.key === "Escape") tip.hide();
      else if (event.key === "Enter" && state.at) pin();
      else return;
      event.preventDefault();
    });
    tip.box.addEventListener("keydown", event => {
      if (event.key !== "Escape") return;
      tip.hide();
      main.focus();
    });
  }

  function attach(history) {
    pointers(history);
    keys(history);
  }

  return {attach, capture};
})();
