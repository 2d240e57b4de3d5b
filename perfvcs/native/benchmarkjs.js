// Loaded first into programs whose Benchmark.js perfvcs reads: each of their benchmarks takes PERFVCS_BENCHMARK_SECONDS, where that is set.
// Benchmark.js itself takes 5 seconds and more, and has no option for that on a command line.
'use strict';

const Module = require('module');
const seconds = Number(process.env.PERFVCS_BENCHMARK_SECONDS);
const SAMPLES = 5; // as few as Benchmark.js takes by itself

function isBenchmarkJs(loaded) {
  return typeof loaded === 'function' && typeof loaded.Suite === 'function' && loaded.options && 'minSamples' in loaded.options;
}

function shorten(Benchmark) {
  const run = Benchmark.prototype.run;
  Benchmark.prototype.run = function (...options) {
    // from which it sets itself back before it runs
    this.options.maxTime = Math.min(this.options.maxTime, seconds);
    this.options.minSamples = Math.min(this.options.minSamples, SAMPLES);
    return run.apply(this, options);
  };
}

if (seconds > 0) {
  const load = Module._load, known = new WeakSet();
  Module._load = function (...asked) {
    const loaded = load.apply(this, asked);
    if (isBenchmarkJs(loaded) && !known.has(loaded)) {
      known.add(loaded);
      shorten(loaded);
    }
    return loaded;
  };
}
