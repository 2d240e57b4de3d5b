// Every function is called once for each of these sizes, in this order.
#include <array>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#define EXACT __attribute__((noinline))
/* What a function does not use, compilers do not pass; and functions that do the same they merge. */
#define USE(x) asm volatile("# %c1" : : "X"(x), "i"(__LINE__) : "memory")
#define SEE(x) asm volatile("# %c1" : : "m"(x), "i"(__LINE__) : "memory")

static const int SIZES[] = {0, 1, 2, 5, 17, 100, 999, 20000};

struct Wide { char bytes[40]; };

struct list { int count = 0; }; // not that of std
struct Empty {};
struct Copied { int count; explicit Copied(int n) : count(n) {} Copied(const Copied &other) : count(other.count) { asm volatile(""); } };
struct Holder { Copied inside; long pad[4]; };

EXACT void of_string(const std::string &text) { SEE(text); }
EXACT void of_string_value(std::string text) { SEE(text); }
EXACT void of_string_view(std::string_view text) { SEE(text); }
EXACT void after_empty(Empty e, int n) { SEE(e); USE(n); }
EXACT void of_copied(Copied one) { SEE(one); }
EXACT void of_holder(int a, Holder one) { USE(a); SEE(one); }
EXACT Holder returns_holder(Copied one, int n) { SEE(one); USE(n); return {one, {}}; }
EXACT void of_vector(std::vector<int> &v) { SEE(v); }
EXACT void of_vector_pointer(const std::vector<std::string> *v) { SEE(v); }
EXACT void of_vector_value(std::vector<Wide> v) { SEE(v); }
EXACT void of_bits(const std::vector<bool> &v) { SEE(v); }
EXACT void of_deque(std::deque<int> &v) { SEE(v); }
EXACT void of_wide_deque(std::deque<Wide> &v) { SEE(v); }
EXACT void of_list(std::list<int> &v) { SEE(v); }
EXACT void of_own_list(list &v) { SEE(v); }
EXACT void of_map(const std::map<int, std::string> &v) { SEE(v); }
EXACT void of_multiset(std::multiset<int> &&v) { SEE(v); }
EXACT void of_unordered_map(std::unordered_map<std::string, int> &v) { SEE(v); }
EXACT void of_unordered_set(std::unordered_multiset<int> &v) { SEE(v); }
EXACT void of_array(std::array<int, 7> &v) { SEE(v); }
EXACT void of_span(std::span<const int> v) { SEE(v); }
EXACT void of_fixed_span(std::span<int, 3> v) { SEE(v); }
EXACT void of_initializers(std::initializer_list<int> v) { SEE(v); }
EXACT void of_stack(std::stack<int> &v) { SEE(v); }
EXACT void of_queue(std::priority_queue<int> &v) { SEE(v); }
EXACT void of_unique(std::unique_ptr<std::vector<int>> v) { SEE(v); }
EXACT void of_forward(std::forward_list<int> &v, int n) { SEE(v); SEE(n); }
EXACT std::string returns_string(int n) { USE(n); return std::string(static_cast<std::size_t>(n), 'x'); }
EXACT std::pair<long, double> returns_pair(double, int n) { USE(n); return {n, 0.5}; }

namespace shop {
class Shelf {
  public:
    explicit Shelf(int n) : count(n) {}
    virtual ~Shelf() = default;
    EXACT void sort() { SEE(*this); }
    EXACT long total() const { SEE(*this); return count; }
    EXACT void put(int) { SEE(*this); }
    EXACT void put(double, int n) { SEE(n); }
    EXACT static void print(const Shelf &one) { SEE(one); }
    EXACT std::string describe() const { SEE(*this); return "shelf"; }
    EXACT bool operator<(const Shelf &other) const { SEE(*this); return count < other.count; }
    EXACT virtual void work() { SEE(*this); }

  protected:
    int count;
};

class Deep : public Shelf {
  public:
    explicit Deep(int n) : Shelf(n), items(static_cast<std::size_t>(n)) {}
    EXACT void work() override { SEE(*this); }
    EXACT void insert() { SEE(*this); }

  private:
    std::vector<double> items;
};

template <typename T> class Sort {
  public:
    EXACT void run(const std::vector<T> &values) { SEE(values); }
};

template <typename T, typename F> EXACT void apply(const std::vector<T> &values, F function) { function(static_cast<int>(values.size())); }

inline namespace v2 {
EXACT void inside(int n) { SEE(n); }
}
} // namespace shop

namespace {
EXACT void hidden(int n) { SEE(n); }
}

struct Functor { int unused = 0; EXACT void operator()(int n) const { SEE(n); } };

template <std::size_t... I> void initializers(std::index_sequence<I...>) { of_initializers({static_cast<int>(I)...}); }

int main()
{
    std::size_t sum = 0;
    for (int n : SIZES) {
        auto size = static_cast<std::size_t>(n);
        std::vector<int> v(size);
        std::vector<std::string> texts(size);
        std::vector<Wide> wides(size);
        std::vector<bool> bits(size);
        std::deque<int> deque(size);
        std::deque<Wide> wide_deque(size);
        std::list<int> linked(size);
        std::map<int, std::string> map;
        std::multiset<int> set;
        std::unordered_map<std::string, int> hashed;
        std::unordered_multiset<int> bag;
        std::stack<int> stack;
        std::priority_queue<int> heap;
        std::forward_list<int> forward(size);
        std::array<int, 7> array{};
        int three[3] = {};
        list own{n};
        for (int i = 0; i < n; i++)
            map[i] = "", set.insert(i / 2), hashed[std::to_string(i)] = i, bag.insert(i / 3), stack.push(i), heap.push(i);
        std::string text(size, 'x');
        after_empty(Empty(), n), of_copied(Copied(n)), of_holder(1, {Copied(n), {}});
        sum += static_cast<std::size_t>(returns_holder(Copied(n), n).inside.count);
        of_string(text), of_string_value(text), of_string_view(text), of_vector(v), of_vector_pointer(&texts), of_vector_value(wides);
        of_bits(bits), of_deque(deque), of_wide_deque(wide_deque), of_list(linked), of_own_list(own), of_map(map), of_multiset(std::move(set));
        of_unordered_map(hashed), of_unordered_set(bag), of_array(array), of_span(v), of_fixed_span(three), of_stack(stack), of_queue(heap);
        of_unique(std::make_unique<std::vector<int>>(size)), of_forward(forward, n);
        initializers(std::make_index_sequence<9>());
        sum += returns_string(n).size() + static_cast<std::size_t>(returns_pair(0.5, n).first);
        shop::Shelf shelf(n);
        shop::Deep deep(n);
        shelf.sort(), shelf.put(n), shelf.put(0.5, n), shop::Shelf::print(deep), deep.insert();
        shop::Shelf *base = &deep;
        base->work(), shelf.work();
        sum += static_cast<std::size_t>(shelf.total()) + shelf.describe().size() + (shelf < shelf);
        shop::Sort<int>().run(v);
        shop::Sort<std::string>().run(texts);
        shop::apply(v, [](int n) __attribute__((noinline)) { SEE(n); });
        shop::inside(n), hidden(n), Functor()(n);
    }
    return sum == 1;
}
