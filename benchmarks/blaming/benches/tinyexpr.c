#include <stdio.h>
#include "tinyexpr.h"

int main(void)
{
    double x = 1, y = 2, sum = 0;
    te_variable names[] = {{"x", &x}, {"y", &y}};
    const char *texts[] = {"sqrt(x^2 + y^2) * (3 - -x)", "sin(x) + cos(y) / pi, atan2(x, y)", "max1(x)", "fac(5) + ncr(6, 2) - x % 3",
                           "((x + 1) * (y + 2.5e1) - floor(x / y)) ^ 2", "ln(e) + log10(1000) + abs(-x)"};
    for (int round = 0; round < 60; round++)
        for (int i = 0; i < 6; i++) {
            int error;
            te_expr *found = te_compile(texts[i], names, 2, &error);
            for (x = 0; found && x < 20; x++)
                sum += te_eval(found);
            te_free(found);
        }
    printf("%g\n", sum);
    return 0;
}
