"use strict";
// What pictures need of a page; it is no part of the page and comes in by the browser's own protocol.
globalThis.picture = (() => {
  const roots = () => [...(globalThis.Bokeh?.index.roots ?? Object.values(globalThis.Bokeh?.index ?? {}))];
  const figures = () => [...document.querySelectorAll(".figure")];
  const near = place => place.checkVisibility() && place.getBoundingClientRect().top < innerHeight;
  return {
    height: () => Math.ceil(document.body.getBoundingClientRect().height),
    ready: () => new Promise((done, fail) => {
      const poll = () => {
        const visible = figures().filter(near), waiting = visible.filter(place => !place.classList.contains("drawn"));
        const broken = document.documentElement.dataset.failed && waiting.find(place => place.textContent.includes("("));
        if (broken) fail(broken.querySelector("p").textContent);
        else if (waiting.length) setTimeout(poll, 20);
        else setTimeout(() => done(visible.length), 100);
      };
      poll();
    }),
    figuresAlone: () => {
      document.documentElement.classList.add("picture");
      document.querySelectorAll("details.section").forEach(one => { one.open = true; });
    },
    withoutTools: () => {
      for (const model of roots().flatMap(view => [...view.model.references()])) if (model.type === "Toolbar") model.visible = false;
    },
    // BokehJS measures a legend of vectors before their size is set.
    measureLegends: () => roots().forEach(function measure(view) {
      (view.child_views ?? []).forEach(measure);
      const legends = [...(view.renderer_views?.values() ?? [])].filter(one => one.model.type === "Legend");
      legends.forEach(one => one.after_render());
      if (legends.length) view.invalidate_layout();
    }),
    vectors: () => {
      const drawn = new Map(roots().map(view => [view.el.closest(".figure"), view]));
      return figures().filter(place => drawn.has(place) && place.checkVisibility()).map(place => ({
        section: place.closest("details.section").querySelector("summary").textContent,
        heading: place.closest(".block").querySelector("h3")?.textContent ?? "",
        svg: drawn.get(place).export("svg", false).ctx.get_serialized_svg(true),
      }));
    },
  };
})();
