"use strict";
// A series page's data, columns as they travel, turned into what figures draw: commits, and a track of points, steps and levels per environment.
var perf = globalThis.perf || {};
perf.series = (() => {
  const BRIEF = 18; // letters of an environment beside its line

  function read(page, root) {
    const commits = page.commits.map(turn => perf.compare.about(turn, root));
    const brief = name => [...name].length > BRIEF ? `${[...name].slice(0, BRIEF - 1).join("")}…` : name;
    const tracks = page.tracks.map((columns, turn) => {
      const {name, fingerprint, retired} = columns.environment, fresh = new Set(columns.breaks);
      const track = {turn: turn % 6, name, brief: brief(name), fingerprint, retired, began: columns.began};
      const compared = new Map(columns.compared.map(([row, word, effect]) => [row, {word, effect}])), nothing = {word: "", effect: null};
      const accepted = new Set(columns.steps.filter(step => step.state === "accepted").map(step => step.place));
      track.points = columns.places.map((x, row) => {
        const {word, effect} = compared.get(row) ?? nothing;
        return {
          x, track, turn: row, fresh: fresh.has(row), commit: commits[x], level: columns.levels[row], low: columns.low[row], high: columns.high[row],
          executions: columns.executions[row] ?? 1, effect, word: accepted.has(x) && word === "degradation" ? "accepted" : word,
        };
      });
      track.marks = columns.steps;
      track.open = track.marks.some(mark => mark.state === "open");
      track.lines = columns.lines;
      return track;
    });
    return {benchmark: page.benchmark, metric: page.metric, unit: page.unit, frame: page.frame, commits, tracks, tags: page.tags, bend: perf.axes.byTime(commits)};
  }

  return {read};
})();
