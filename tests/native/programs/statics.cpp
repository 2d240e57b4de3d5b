// Objects that live before main and after it.
#include <cstdio>
#include <string>
__attribute__((noinline)) int work(int n) { return n ? n + work(n - 1) : 0; }
struct Early { std::string name; explicit Early(const char *n) : name(n) { std::printf("%s %d\n", n, work(3)); } ~Early() { std::printf("~%s %d\n", name.c_str(), work(2)); } };
static Early one("one"), two("two");
static Early &lazy() { static Early object("lazy"); return object; }
int main() { std::printf("%s\n", lazy().name.c_str()); return work(4); }
