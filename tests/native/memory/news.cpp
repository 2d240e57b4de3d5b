/* allocates 6 blocks, 2104 bytes, at most 2104, leaves 256, in take */
#include <new>
struct alignas(128) Wide { char bytes[256]; };
struct Counted { long value; Counted() : value(1) {} ~Counted() { value = 0; } };
static void *volatile seen;
__attribute__((noinline)) static void take()
{
    int *one = new int[100];
    seen = one;
    char *two = new (std::nothrow) char[1000];
    seen = two;
    Wide *three = new Wide;
    seen = three;
    Wide *four = new (std::align_val_t(256)) Wide;
    seen = four;
    Counted *five = new Counted[16]; /* and 8 bytes for their number */
    seen = five;
    char *six = new char[56];
    seen = six;
    delete[] one;
    delete[] two;
    delete three;
    delete[] five;
    delete[] six;
}
int main()
{
    take();
    return 0;
}
