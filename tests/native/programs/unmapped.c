/* Pointers to memory that was there when it was last looked at, and is not there any more. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
struct s { long count, pad[1023]; };
__attribute__((noinline)) static void use(struct s *s) { __asm__ volatile("" : : "r"(s)); }
int main(void)
{
    for (int i = 0; i < 30; i++) {
        struct s *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        s->count = i;
        use(s), use(s);
        if (i % 3 == 0)
            munmap(s, sizeof *s);
        else if (i % 3 == 1)
            mprotect(s, sizeof *s, PROT_NONE);
        else
            mremap(s, sizeof *s, 100 * sizeof *s, MREMAP_MAYMOVE);
        use(s);
    }
    errno = 0;
    printf("%d ", munmap((void *)1, 1)), printf("%d ", errno);
    printf("%d ", mprotect((void *)1, 1, 0)), printf("%d ", errno);
    printf("%d\n", mremap((void *)1, 1, 1, 0) == MAP_FAILED);
    return 0;
}
