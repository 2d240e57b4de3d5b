/* A library of its own, loaded, unloaded and loaded again; alias: -ldl */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) int own(int n) { return n + 1; }
int main(int argc, char **argv)
{
    (void)argc;
    char path[4096];
    strcpy(path, argv[0]);
    strcat(path, ".so");
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(path, RTLD_NOW);
        if (!library) {
            puts("no library");
            return 1;
        }
        int (*twice)(int);
        *(void **)&twice = dlsym(library, "twice");
        for (int n = 0; n < 100; n++)
            if (twice(own(n)) != 2 * (n + 1))
                return 2;
        printf("%d\n", twice(i));
        dlclose(library);
    }
    return 0;
}
