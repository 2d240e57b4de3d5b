// Let a skip list wander between random lengths, and look all keys up in it after every step: the work that perf measures.
//
//     ./work [KEYS] [STEPS] [SEED]
//
// Prints how often a key was found. Without a seed the steps are others each time: no curve is of one order of keys.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "skiplist.hpp"

static constexpr int FEWEST = 10;  // keys, but at the start
static constexpr int ROUNDS = 8;   // how often all keys are looked up after every step: so little is left in the caches of what insert did

// So many steps with at most so many keys, as the seed has them; returns how often a key was found.
// Three of four steps lead towards the next length, one away from it: so calls of all functions mix at every length.
static long work(int keys, int steps, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::string> order;  // the first `count` of them are in the list
    for (int place = 0; place < keys; place++)
        order.push_back("key " + std::to_string(100000 + place));
    SkipList list(random());
    int count = 0, length = 0;
    long found = 0;
    for (int step = 0; step < steps; step++) {
        if (count == length)
            // short ones as often as long ones
            length = static_cast<int>(std::lround(FEWEST * std::pow(double(keys) / FEWEST, random() / double(random.max()))));
        if (count < FEWEST || (count < keys && (count < length) == (random() % 4 > 0))) {
            std::swap(order[count], order[count + random() % (keys - count)]);
            list.insert(order[count++]);
        } else {
            std::swap(order[count - 1], order[random() % count]);
            found += list.remove(order[--count]);
        }
        for (int round = 0; round < ROUNDS; round++)
            for (const std::string &key : order) {
                const std::string *lower = list.lower(key);
                if (lower && *lower < key)
                    throw std::logic_error(*lower + " is below " + key);
            }
        found += list.search(order[random() % keys]);
    }
    return found;
}

int main(int count, char **words) {
    const int keys = count > 1 ? std::atoi(words[1]) : 200, steps = count > 2 ? std::atoi(words[2]) : 2500;
    std::printf("%ld\n", work(keys, steps, count > 3 ? std::atoi(words[3]) : std::random_device()()));
}
