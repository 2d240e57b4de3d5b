// An ordered set as a skip list: sorted nodes, each with links on a random number of levels (Pugh 1990).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

class SkipList {
  public:
    explicit SkipList(std::uint64_t seed);
    SkipList(const SkipList &) = delete;
    SkipList &operator=(const SkipList &) = delete;
    ~SkipList();

    bool insert(const std::string &key);        // whether it was new
    bool search(const std::string &key) const;  // whether it is there
    bool remove(const std::string &key);        // whether it was there

    const std::string *lower(const std::string &key) const;  // the first that is not below; none is null

  private:
    static constexpr int LEVELS = 8;

    struct Node {
        std::string key;
        int height;
        Node *after[LEVELS];  // the node that follows on each level
    };

    using Path = Node *[LEVELS];

    void before(const std::string &key, Path &path) const;
    int draw();

    Node *head;
    int levels = 1;
    std::size_t count = 0;
    std::uint64_t state;
};
