window.BENCHMARK_DATA = {
  "lastUpdate": 1795431769207,
  "repoUrl": "https://github.com/ada/sorting",
  "entries": {
    "Rust": [
      {
        "commit": {
          "author": {"email": "ada@example.org", "name": "Ada", "username": "ada"},
          "committer": {"email": "ada@example.org", "name": "Ada", "username": "ada"},
          "distinct": true,
          "id": "3b1f9c1e0d2a4b5c6d7e8f90a1b2c3d4e5f60718",
          "message": "Sort in place",
          "timestamp": "2026-11-20T10:00:00+01:00",
          "tree_id": "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
          "url": "https://github.com/ada/sorting/commit/3b1f9c1e0d2a4b5c6d7e8f90a1b2c3d4e5f60718"
        },
        "date": 1795165200000,
        "tool": "cargo",
        "benches": [
          {"name": "sort_100", "range": "± 12", "unit": "ns/iter", "value": 1207},
          {"name": "sort_1000", "range": "± 310", "unit": "ns/iter", "value": 21050}
        ]
      },
      {
        "commit": {
          "id": "9a8b7c6d5e4f30211203f4e5d6c7b8a990817263",
          "message": "Allocate once",
          "timestamp": "2026-11-21T10:00:00+01:00",
          "url": "https://github.com/ada/sorting/commit/9a8b7c6d5e4f30211203f4e5d6c7b8a990817263"
        },
        "date": 1795251600000,
        "tool": "cargo",
        "benches": [
          {"name": "sort_100", "range": "± 10", "unit": "ns/iter", "value": 1101}
        ]
      }
    ],
    "Python": [
      {
        "commit": {"id": "9a8b7c6d5e4f30211203f4e5d6c7b8a990817263", "timestamp": "2026-11-21T10:00:00+01:00"},
        "date": 1795251660000,
        "tool": "pytest",
        "benches": [
          {"name": "test_sort", "value": 490306.25, "unit": "iter/sec", "range": "stddev: 1.6e-7", "extra": "mean: 2.03 usec\nrounds: 6"}
        ]
      }
    ]
  }
}
