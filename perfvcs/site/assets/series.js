"use strict";
// A series page's data, columns as they travel, turned into what figures draw: commits, and a track of points, steps and levels per environment.
var perf = globalThis.perf || {};
perf.series = (() => {
  const SHAPES = ["circle", "diamond", "square", "triangle", "inverted_triangle"];

  function read(page, root) {
    const commits = page.ids.map((short, turn) => ({
      short, day: page.days[turn], author: page.authors[page.author[turn]], title: page.titles[turn], url: `${root}commits/${short}.html`,
    }));
    const called = track => track.environment.name; // in this order, so that an environment looks the same on all pages
    const sorted = [...page.tracks].sort((a, b) => called(a) < called(b) ? -1 : called(a) > called(b) ? 1 : a.places[0] - b.places[0]);
    const tracks = sorted.map((columns, turn) => {
      const track = {turn: turn % 6, name: called(columns), fingerprint: columns.environment.fingerprint, retired: columns.environment.retired, shape: SHAPES[turn % SHAPES.length], began: columns.began};
      const accepted = new Set(columns.steps.filter(step => step.state === "accepted").map(step => step.place));
      track.points = columns.places.map((x, row) => ({
        x, track, turn: row, commit: commits[x], level: columns.levels[row], low: columns.low[row], high: columns.high[row],
        executions: columns.executions[row], effect: columns.effects[row], word: accepted.has(x) && columns.words[row] === "degradation" ? "accepted" : columns.words[row],
      }));
      track.marks = columns.steps;
      track.open = track.marks.some(mark => mark.state === "open");
      track.lines = columns.lines;
      return track;
    });
    return {benchmark: page.benchmark, unit: page.unit, frame: page.frame, commits, tracks};
  }

  return {read};
})();
