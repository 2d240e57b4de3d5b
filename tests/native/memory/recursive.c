/* allocates 127 blocks, 12700 bytes, at most 12700, leaves 12700, in tree */
#include <stdlib.h>
struct node { struct node *left, *right; char more[84]; };
__attribute__((noinline)) static struct node *tree(int depth)
{
    struct node *node = malloc(100);
    node->left = depth > 1 ? tree(depth - 1) : NULL;
    node->right = depth > 1 ? tree(depth - 1) : NULL;
    return node;
}
int main(void) { return tree(7) == NULL; }
