// Sorting with callbacks from the C and C++ libraries, virtual calls, function objects, variadic templates.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>
#define KEEP __attribute__((noinline))
KEEP int compare(const void *a, const void *b) { return *static_cast<const int *>(a) - *static_cast<const int *>(b); }
struct Shape { virtual ~Shape() = default; virtual double area() const = 0; };
struct Square : Shape { double side; explicit Square(double s) : side(s) {} KEEP double area() const override { return side * side; } };
struct Circle : virtual Shape { double radius; explicit Circle(double r) : radius(r) {} KEEP double area() const override { return 3 * radius * radius; } };
template <typename... T> KEEP double add(T... values) { return (0.0 + ... + values); }
KEEP std::string repeat(const std::string &text, int n) { std::string all; for (int i = 0; i < n; i++) all += text; return all; }
KEEP std::map<std::string, std::vector<int>> group(std::vector<int> values) { std::map<std::string, std::vector<int>> found; for (int v : values) found[repeat("x", v % 4)].push_back(v); return found; }
int main()
{
    std::vector<int> values(500);
    unsigned seed = 1;
    for (int &v : values)
        v = static_cast<int>((seed = seed * 1103515245 + 12345) >> 16) % 1000;
    std::vector<int> copy = values;
    std::qsort(copy.data(), copy.size(), sizeof(int), compare);
    std::function<bool(int, int)> less = [](int a, int b) { return a < b; };
    std::sort(values.begin(), values.end(), less);
    std::printf("%d\n", values == copy);
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 50; i++)
        if (i % 2) shapes.push_back(std::make_unique<Square>(i)); else shapes.push_back(std::make_unique<Circle>(i));
    std::printf("%g %g\n", std::accumulate(shapes.begin(), shapes.end(), 0.0, [](double sum, const auto &one) { return sum + one->area(); }), add(1, 2.5f, 3L, 4.25));
    for (const auto &[name, list] : group(values))
        std::printf("%s %zu\n", name.c_str(), list.size());
}
