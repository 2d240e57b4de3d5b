"""The projects that are searched: what is planted where, and the benchmark that notices it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """A project, the file and function into which the loop goes, the benchmark, its build, and the
    size of the slowdown.
    """

    name: str
    file: str
    function: str
    work: str
    size: float
    build: str = ""

    @property
    def is_c(self) -> bool:
        return self.file.endswith((".c", ".cpp", ".h"))


JSON_C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
{include}
int main(void)
{{
    size_t length = 0, room = 60000;
    char *text = malloc(room);
    text[length++] = '[';
    for (int i = 0; i < 800; i++)
        length += (size_t)snprintf(
            text + length, room - length, "%s{{\\"id\\": %d, \\"name\\": \\"item %d\\", \\"ok\\": true}}", i ? ", " : "", i, i);
    text[length++] = ']';
    text[length] = 0;
    long total = 0;
    for (int round = 0; round < {rounds}; round++) {{
        {body}
    }}
    printf("%ld\\n", total);
    return 0;
}}
"""
INI_C = r"""
#include <stdio.h>
#include <string.h>
#include "../ini.h"
static int handle(void *user, const char *section, const char *name, const char *value)
{
    *(long *)user += (long)(strlen(section) + strlen(name) + strlen(value));
    return 1;
}
int main(void)
{
    long total = 0;
    for (int round = 0; round < 1500; round++) {
        FILE *file = fopen("bench/data.ini", "r");
        if (!file || ini_parse_file(file, handle, &total) < 0)
            return 1;
        fclose(file);
    }
    printf("%ld\n", total);
    return 0;
}
"""
ZLIB = (
    "adler32.c compress.c crc32.c deflate.c infback.c inffast.c inflate.c inftrees.c trees.c"
    " uncompr.c zutil.c"
)
ZLIB_C = r"""
#include <stdio.h>
#include <stdlib.h>
#include "../zlib.h"
int main(void)
{
    static unsigned char text[300000], packed[400000], again[300000];
    unsigned long size, total = 0;
    for (unsigned place = 0; place < sizeof text; place++)
        text[place] = (unsigned char)("abcdefgh"[place * place % 7] + place / 1000 % 5);
    for (int round = 0; round < 400; round++) {
        size = sizeof packed;
        if (round % 10 == 0 && compress2(packed, &size, text, sizeof text, 6) != Z_OK)
            return 1;
        size = sizeof again;
        if (uncompress(again, &size, packed, sizeof packed) != Z_OK)
            return 1;
        total += adler32(1, again, (unsigned)size);
    }
    printf("%lu\n", total);
    return 0;
}
"""
TINYEXPR_C = r"""
#include <stdio.h>
#include "../tinyexpr.h"
int main(void)
{
    double total = 0;
    int error = 0;
    for (int round = 0; round < 60000; round++)
        total += te_interp("sqrt(5^2+7^2+11^2+(8-2)^2) + 3*(4-2)/7 + sin(1.5)", &error);
    printf("%g %d\n", total, error);
    return error;
}
"""
TINYXML_C = r"""
#include <cstdio>
#include <string>
#include "../tinyxml2.h"
int main()
{
    std::string text = "<list>";
    for (int i = 0; i < 600; i++)
        text += "<item id='" + std::to_string(i) + "' name='an item'><part>some text &amp; more</part></item>";
    text += "</list>";
    long total = 0;
    for (int round = 0; round < 400; round++) {
        tinyxml2::XMLDocument document;
        total += document.Parse(text.c_str());
    }
    std::printf("%ld\n", total);
    return total != 0;
}
"""
JANSSON = (  # without its configure
    "touch bench/jansson_private_config.h; cc -O2 -w -D_GNU_SOURCE -DHAVE_STDINT_H=1 -Isrc"
    " -Iandroid -Ibench -o bench/task bench/task.c src/*.c -lm"
)
PROJECTS = (
    Planted(
        "sqlparse",
        "sqlparse/__init__.py",
        "parse",
        """
import sqlparse
for number in range(25):
    sqlparse.parse(
        f"select a, b, count(*) from t{number} join u on t.id = u.id where a in (1, 2, 3) and b like 'x%' group by a, b order by 1"
    )
""",
        0.10,
    ),
    Planted(
        "toolz",
        "toolz/itertoolz.py",
        "groupby",
        """
from toolz import groupby, merge_with, pipe, sliding_window
for number in range(600):
    groups = groupby(lambda value: value % 17, range(3000))
    merge_with(sum, *({key: len(values)} for key, values in groups.items()))
""",
        0.20,
    ),
    Planted(
        "tinydb",
        "tinydb/queries.py",
        "__call__",
        """
from tinydb import Query, TinyDB
from tinydb.storages import MemoryStorage
db = TinyDB(storage=MemoryStorage)
db.insert_multiple({"id": number, "name": f"n{number % 50}"} for number in range(600))
for number in range(50):
    db.search((Query().name == f"n{number}") & (Query().id > 100))
""",
        0.15,
    ),
    Planted(
        "mistune",
        "src/mistune/block_parser.py",
        "parse",
        """
import mistune
text = "# Title\\n\\nSome *text* with `code` and [a link](http://example.org).\\n\\n- one\\n- two\\n\\n> quoted\\n\\n" * 12
markdown = mistune.create_markdown()
for number in range(12):
    markdown(text)
""",
        0.20,
    ),
    Planted(
        "boltons",
        "boltons/iterutils.py",
        "chunked_iter",
        """
from boltons.iterutils import chunked, remap, windowed
for number in range(400):
    chunked(list(range(3000)), 7)
    list(windowed(range(1000), 3))
""",
        0.06,
    ),
    Planted(
        "inflection",
        "inflection/__init__.py",
        "pluralize",
        """
from inflection import camelize, pluralize, underscore
words = ["category", "person", "octopus", "index", "datum", "analysis", "quiz", "house", "wolf", "tomato"]
for number in range(250):
    for word in words:
        pluralize(word)
        underscore(camelize(word))
""",
        0.20,
    ),
    Planted(
        "tomli",
        "src/tomli/_parser.py",
        "loads",
        """
import tomli
part = "name = 'value'\\nlist = [1, 2, 3]\\ndate = 1979-05-27T07:32:00Z\\nnested = {a = 1, b = {c = 2.5}}\\n"
text = "".join(f"[table{number}]\\n{part}" for number in range(60))
for number in range(60):
    tomli.loads(text)
""",
        0.15,
    ),
    Planted(
        "cJSON",
        "cJSON.c",
        "parse_value",
        JSON_C.format(
            include='#include "../cJSON.h"',
            rounds=400,
            body=(
                "cJSON *item = cJSON_Parse(text); total += cJSON_GetArraySize(item); "
                "cJSON_Delete(item);"
            ),
        ),
        0.10,
        "cc -O2 -o bench/task bench/task.c cJSON.c -lm",
    ),
    Planted(
        "inih", "ini.c", "ini_parse_stream", INI_C, 0.07, "cc -O2 -o bench/task bench/task.c ini.c"
    ),
    Planted(
        "zlib", "inflate.c", "inflate", ZLIB_C, 0.08, f"cc -O2 -o bench/task bench/task.c {ZLIB}"
    ),
    Planted(
        "tinyexpr",
        "tinyexpr.c",
        "te_compile",
        TINYEXPR_C,
        0.10,
        "cc -O2 -o bench/task bench/task.c tinyexpr.c -lm",
    ),
    Planted(
        "tinyxml2",
        "tinyxml2.cpp",
        "XMLDocument::Parse",
        TINYXML_C,
        0.12,
        "c++ -O1 -o bench/task -x c++ bench/task.c tinyxml2.cpp",
    ),
    Planted(
        "jansson",
        "src/load.c",
        "parse_value",
        JSON_C.format(
            include='#include "../src/jansson.h"',
            rounds=400,
            body=(
                "json_t *item = json_loads(text, 0, 0); "
                "total += (long)json_array_size(item); json_decref(item);"
            ),
        ),
        0.10,
        f"sh -c '{JANSSON}'",
    ),
    Planted(
        "more-itertools",
        "more_itertools/more.py",
        "split_at",
        """
from more_itertools import chunked, collapse, split_at, windowed
for number in range(120):
    list(chunked(range(3000), 7))
    list(windowed(range(1000), 3))
    list(split_at(range(2000), lambda value: value % 10 == 9))
    list(collapse([[value, [value]] for value in range(100)]))
""",
        0.10,
    ),
)
