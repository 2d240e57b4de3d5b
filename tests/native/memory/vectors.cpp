/* allocates 12 blocks, 12188 bytes, at most 8096, leaves 0, in grow reserve */
#include <vector>
__attribute__((noinline)) static void grow(std::vector<int> &all) { for (int i = 0; i < 1000; i++) all.push_back(i); }
__attribute__((noinline)) static void reserve(std::vector<int> &all) { all.reserve(1000); }
int main()
{
    std::vector<int> one, two;
    grow(one);
    reserve(two);
    return one.size() != 1000;
}
