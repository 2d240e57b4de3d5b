/* Containers of std by the library that they are compiled with. */
#include <string>
#include <vector>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <array>
#include <span>
#include <string_view>
#include <stack>
#include <queue>
#include <memory>
#include <valarray>
#include <forward_list>
#define F(name, type) __attribute__((noinline)) void name(const type &v) { asm volatile("# " #name :: "r"(&v) : "memory"); }
F(of_string, std::string) F(of_wide, std::wstring) F(of_vector, std::vector<int>) F(of_bits, std::vector<bool>) F(of_deque, std::deque<double>) F(of_list, std::list<int>)
using M = std::map<int, int>; using UM = std::unordered_map<int, int>; 
F(of_map, M) F(of_multiset, std::multiset<int>) F(of_unordered_map, UM) F(of_unordered_set, std::unordered_set<int>) F(of_span, std::span<int>) F(of_stack, std::stack<int>) F(of_queue, std::queue<int>) F(of_heap, std::priority_queue<int>) F(of_valarray, std::valarray<int>)
F(of_initializers, std::initializer_list<int>) F(of_forward, std::forward_list<int>)
__attribute__((noinline)) void of_view(std::string_view v) { asm volatile("# view" :: "r"(v.data()) : "memory"); }
__attribute__((noinline)) void of_array(const std::array<int, 7> &v) { asm volatile("# arr" :: "r"(&v) : "memory"); }
struct T { int pad; std::vector<long> items; std::string name; };
__attribute__((noinline)) void of_unique(const std::unique_ptr<T> &v) { asm volatile("# uni" :: "r"(&v) : "memory"); }
__attribute__((noinline)) void of_shared(const std::shared_ptr<T> &v) { asm volatile("# sha" :: "r"(&v) : "memory"); }
__attribute__((noinline)) void of_string_value(std::string v) { asm volatile("# val" :: "r"(&v) : "memory"); }
int main() { for (int n : {0, 1, 2, 10, 22, 23, 100, 5000}) {
 of_string(std::string(n, 'x')); of_wide(std::wstring(n, 'x')); std::vector<int> v(n); of_vector(v); of_bits(std::vector<bool>(n)); std::deque<double> d(n); if (n > 2) { d.pop_front(); d.push_back(1); } of_deque(d); of_list(std::list<int>(n));
 M m; UM u; std::multiset<int> ms; std::unordered_set<int> us; std::stack<int> st; std::queue<int> q; std::priority_queue<int> p; for (int i = 0; i < n; i++) m[i], u[i], ms.insert(1), us.insert(i), st.push(i), q.push(i), p.push(i);
 of_map(m); of_multiset(ms); of_unordered_map(u); of_unordered_set(us); of_span(std::span<int>(v)); of_stack(st); of_queue(q); of_heap(p); of_valarray(std::valarray<int>(n)); of_view(std::string(n, 'y')); of_array({}); of_initializers({1, 2, 3}); of_forward({1});
 auto t = std::make_unique<T>(); t->items.resize(n); t->name = std::string(n, 'z'); of_unique(t); of_shared(std::shared_ptr<T>(std::move(t))); of_string_value(std::string(n, 'w')); } }
