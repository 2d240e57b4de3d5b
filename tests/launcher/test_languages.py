"""The files of perfvcs/native by which programs in other languages report their own samples."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import need

from perfvcs.jobs.harness import HARNESSES
from perfvcs.launcher.samples import read_samples
from perfvcs.native import native_folder
from perfvcs.profile import Metric

KNOWN = {"wall": Metric("s"), "cpu": Metric("s")}


class Language(NamedTuple):
    """How a program in it is written, and run; ``clocks``: the metrics that `measure` reports."""

    tools: tuple[str, ...]
    source: str
    helper: str
    program: str
    text: str
    commands: tuple[str, ...]
    clocks: tuple[str, ...] = ("cpu", "wall")


# Each measures spin at size 10 and returns 42 from it, measures without a size, declares rate,
# records it under a name with a quote, a backslash and a line end, and then one that is no number.
LANGUAGES = {
    "node": Language(
        ("node",),
        "perfvcs.js",
        "perfvcs.js",
        "main.js",
        r"""
const perfvcs = require("./perfvcs.js");
const spin = () => { for (let n = 0; n < 1e6; n++); return 42; };
console.log(perfvcs.measure("spin", spin, 10));
(async () => {
  await perfvcs.measure("plain", async () => spin());
  perfvcs.declare("rate", "op/s", "higher");
  perfvcs.record("a\"b\\c\nd", { rate: 1.5 });
  perfvcs.record("odd", { rate: NaN });
})();
""",
        ("node main.js",),
    ),
    "go": Language(
        ("go",),
        "perfvcs.go",
        "perfvcs/perfvcs.go",
        "main.go",
        r"""
package main

import (
	"fmt"
	"math"

	"example.org/main/perfvcs"
)

func spin(name string, size float64) (n int) {
	defer perfvcs.Measure(name, size)()
	for n = 0; n < 1000000; n++ {
	}
	return 42
}

func main() {
	fmt.Println(spin("spin", 10))
	spin("plain", perfvcs.NoSize)
	perfvcs.Declare("rate", "op/s", "higher")
	perfvcs.Record("a\"b\\c\nd", perfvcs.NoSize, map[string]float64{"rate": 1.5})
	perfvcs.Record("odd", perfvcs.NoSize, map[string]float64{"rate": math.NaN()})
}
""",
        ("go mod init example.org/main", "go build -o main .", "./main"),
    ),
    "rust": Language(
        ("rustc",),
        "perfvcs.rs",
        "perfvcs.rs",
        "main.rs",
        r"""
mod perfvcs;

fn spin() -> i32 {
    for n in 0..100_000 {
        std::hint::black_box(n);
    }
    42
}

fn main() {
    println!("{}", perfvcs::measure("spin", Some(10.0), spin));
    perfvcs::measure("plain", None, spin);
    perfvcs::declare("rate", "op/s", "higher");
    perfvcs::record("a\"b\\c\nd", None, &[("rate", 1.5)]);
    perfvcs::record("odd", None, &[("rate", f64::NAN)]);
}
""",
        ("rustc --edition 2021 -D warnings main.rs -o main", "./main"),
    ),
    "ruby": Language(
        ("ruby",),
        "perfvcs.rb",
        "perfvcs.rb",
        "main.rb",
        r"""
require_relative "perfvcs"
spin = -> { 100_000.times { }; 42 }
puts Perfvcs.measure("spin", size: 10, &spin)
Perfvcs.measure("plain", &spin)
Perfvcs.declare("rate", "op/s", "higher")
Perfvcs.record("a\"b\\c\nd", rate: 1.5)
Perfvcs.record("odd", rate: Float::NAN)
""",
        ("ruby -w main.rb",),
    ),
    "perl": Language(
        ("perl",),
        "Perfvcs.pm",
        "Perfvcs.pm",
        "main.pl",
        r"""
use strict; use warnings; use lib "."; use Perfvcs;
my $spin = sub { for (1 .. 100_000) { } return 42 };
print Perfvcs::measure("spin", $spin, 10), "\n";
Perfvcs::measure("plain", $spin);
Perfvcs::declare("rate", "op/s", "higher");
Perfvcs::record("a\"b\\c\nd", { rate => 1.5 });
Perfvcs::record("odd", { rate => 9**9**9 / 9**9**9 });
""",
        ("perl main.pl",),
    ),
    "lua": Language(
        ("lua5.4",),
        "perfvcs.lua",
        "perfvcs.lua",
        "main.lua",
        r"""
local perfvcs = require("perfvcs")
local function spin() for _ = 1, 100000 do end return 42 end
print(perfvcs.measure("spin", spin, 10))
perfvcs.measure("plain", spin)
perfvcs.declare("rate", "op/s", "higher")
perfvcs.record("a\"b\\c\nd", { rate = 1.5 })
perfvcs.record("odd", { rate = 0 / 0 })
""",
        ("lua5.4 main.lua",),
        ("cpu",),
    ),
    "java": Language(
        ("javac", "java"),
        "Perfvcs.java",
        "Perfvcs.java",
        "Main.java",
        r"""
import java.util.Map;

class Main {
    static int spin() {
        int n = 0;
        while (n < 100000) n++;
        return 42;
    }

    public static void main(String[] words) {
        System.out.println(Perfvcs.<Integer>measure("spin", 10, Main::spin));
        Perfvcs.measure("plain", Perfvcs.NO_SIZE, Main::spin);
        Perfvcs.declare("rate", "op/s", "higher");
        Perfvcs.record("a\"b\\c\nd", Perfvcs.NO_SIZE, Map.of("rate", 1.5));
        Perfvcs.record("odd", Perfvcs.NO_SIZE, Map.of("rate", Double.NaN));
    }
}
""",
        ("javac Main.java", "java Main"),
    ),
}


def with_rustup() -> dict[str, str]:
    """The environment with the toolchains of rustup, which looks for them in HOME; that of tests is
    empty.
    """
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    return {"RUSTUP_HOME": str(home / ".rustup"), **os.environ}


@pytest.mark.slow
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_program_in_another_language_reports_its_samples(name: str, tmp_path: Path) -> None:
    language = LANGUAGES[name]
    need(*language.tools)
    helper = tmp_path / language.helper
    helper.parent.mkdir(exist_ok=True)
    shutil.copy(native_folder() / language.source, helper)
    (tmp_path / language.program).write_text(language.text.lstrip())
    *builds, command = language.commands
    for build in builds:
        subprocess.run(build.split(), cwd=tmp_path, env=with_rustup(), check=True)
    samples = tmp_path / "samples.jsonl"
    env = {**os.environ, "PERFVCS_SAMPLES": str(samples)}
    done = subprocess.run(
        command.split(), cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "42\n"
    assert "a sample is lost: " in done.stderr
    read = read_samples(samples, KNOWN, "job")
    assert list(zip(read.uid, read.size, strict=True)) == [
        ("spin", 10.0),
        ("plain", None),
        ('a"b\\c\nd', None),
    ]
    assert read.metrics["rate"] == Metric("op/s", "higher")
    assert read.values["rate"] == [None, None, 1.5]
    for metric in language.clocks:
        first, second, _ = read.values[metric]
        assert first is not None and second is not None
        assert 0 <= first < 60
    assert read.values[language.clocks[-1]][0]
    samples.unlink()
    plain = subprocess.run(
        command.split(), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert plain.stdout == "42\n"
    assert not samples.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["node", "perl", "ruby", "lua"])
def test_a_sample_that_cannot_be_written_is_said_and_the_program_goes_on(
    name: str, tmp_path: Path
) -> None:
    language = LANGUAGES[name]
    need(*language.tools)
    shutil.copy(native_folder() / language.source, tmp_path / language.helper)
    (tmp_path / language.program).write_text(language.text.lstrip())
    env = {**os.environ, "PERFVCS_SAMPLES": str(tmp_path / "nothing" / "samples")}
    done = subprocess.run(
        language.commands[-1].split(),
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "42\n"
    assert done.stderr.count("a sample is lost: ") == 5


def test_every_file_of_a_language_is_tried() -> None:
    suffixes = {".go", ".java", ".js", ".lua", ".pm", ".rb", ".rs"}
    there = {path.name for path in native_folder().iterdir() if path.suffix in suffixes}
    of_harnesses = {harness.loads for harness in HARNESSES.values()} - {""}
    assert there == {language.source for language in LANGUAGES.values()} | of_harnesses
