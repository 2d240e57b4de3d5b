/* A library in C++, which only brings its own runtime with it, throws and catches: this program knows nothing of exceptions. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) int own(int n) { return n; }
int main(int argc, char **argv)
{
    (void)argc;
    char path[4096];
    strcpy(path, argv[0]);
    strcat(path, ".so");
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            puts("no library");
            return 1;
        }
        int (*catches)(int), *counted;
        *(void **)&catches = dlsym(library, "catches");
        counted = dlsym(library, "counted");
        printf("%d %d %d %d\n", catches(own(5)), catches(own(20)), *counted, dlerror() != NULL);
        dlclose(library);
    }
    return 0;
}
