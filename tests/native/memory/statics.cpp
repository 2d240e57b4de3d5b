/* allocates 103 blocks, 10700 bytes, at most 10700, leaves 100, in Pool::Pool() Leaky::Leaky() local */
static void *volatile seen;
struct Pool {
    char *blocks[100];
    Pool() { for (auto &block : blocks) block = new char[100]; }
    ~Pool() { for (auto &block : blocks) delete[] block; }
};
struct Leaky { char *block; __attribute__((noinline)) Leaky() : block(new char[100]) { seen = block; } };
static Pool pool;
static Leaky leaky;
__attribute__((noinline)) static void local()
{
    static char *once = new char[500];
    seen = once;
    char *more = new char[100];
    seen = more;
    delete[] more;
    delete[] once;
}
int main()
{
    local();
    return 0;
}
