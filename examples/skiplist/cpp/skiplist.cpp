#include "skiplist.hpp"

SkipList::SkipList(std::uint64_t seed) : head(new Node{"", LEVELS, {}}), state(seed * 2 + 1) {}

SkipList::~SkipList() {
    while (head) {
        Node *next = head->after[0];
        delete head;
        head = next;
    }
}

bool SkipList::insert(const std::string &key) {
    Path path;
    before(key, path);
    Node *following = path[0]->after[0];
    if (following && following->key == key)
        return false;
    Node *node = new Node{key, draw(), {}};
    while (levels < node->height)
        path[levels++] = head;
    for (int level = 0; level < node->height; level++) {
        node->after[level] = path[level]->after[level];
        path[level]->after[level] = node;
    }
    count++;
    return true;
}

bool SkipList::search(const std::string &key) const {
    Path path;
    before(key, path);
    const Node *following = path[0]->after[0];
    return following && following->key == key;
}

bool SkipList::remove(const std::string &key) {
    Path path;
    before(key, path);
    Node *node = path[0]->after[0];
    if (!node || node->key != key)
        return false;
    for (int level = 0; level < node->height; level++)
        path[level]->after[level] = node->after[level];
    delete node;
    count--;
    while (levels > 1 && !head->after[levels - 1])
        levels--;
    return true;
}

const std::string *SkipList::lower(const std::string &key) const {
    Path path;
    before(key, path);
    const Node *following = path[0]->after[0];
    return following ? &following->key : nullptr;
}

// The last node below the key on each level.
void SkipList::before(const std::string &key, Path &path) const {
    Node *node = head;
    for (int level = levels - 1; level >= 0; level--) {
        while (node->after[level] && node->after[level]->key < key)
            node = node->after[level];
        path[level] = node;
    }
}

// A number of levels: half of the nodes have one, a quarter two, and so on. The bits come from a xorshift generator.
int SkipList::draw() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    int found = 1;
    for (std::uint64_t bits = state >> 20; found < LEVELS && (bits & 1); bits >>= 1)
        found++;
    return found;
}
