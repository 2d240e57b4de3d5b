/* allocates 2000 blocks, 77000 bytes, at most 77000, leaves 0, in fill */
#include <map>
#include <string>
__attribute__((noinline)) static void fill(std::map<int, char *> &all)
{
    for (int i = 0; i < 1000; i++)
        all[i] = new char[29];
}
int main()
{
    std::map<int, char *> all;
    fill(all);
    for (auto &one : all)
        delete[] one.second;
    return 0;
}
