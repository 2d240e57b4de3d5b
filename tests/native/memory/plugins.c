/* allocates 40 blocks, 6000 bytes, at most 200, leaves 0, in from_one from_two */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
/* two libraries that come to stand at the same address in turn */
int main(int count, char **words)
{
    static const char *names[] = {"one", "two"};
    (void)count;
    for (int i = 0; i < 40; i++) {
        static char path[4096];
        snprintf(path, sizeof path, "%s.%s.so", words[0], names[i % 2]);
        void *library = dlopen(path, RTLD_NOW);
        if (!library)
            return 1;
        void *(*take)(void) = (void *(*)(void))dlsym(library, i % 2 ? "from_two" : "from_one");
        free(take());
        dlclose(library);
    }
    return 0;
}
