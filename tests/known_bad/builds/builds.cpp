// Builds, in C++: what builds.c calls, in namespaces, classes and templates.
#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

extern "C" void builds_foreign(double *heat, uint32_t *order, uint32_t ticks);

namespace colony {
namespace inner {

template <typename Number> class Hive {
public:
    explicit Hive(Number *heat) : heat_(heat) {}
    void warm(uint32_t cell, Number gain);

private:
    Number *heat_;
};

template <typename Number> void Hive<Number>::warm(uint32_t cell, Number gain)
{
    heat_[cell] = heat_[cell] * 0.9 + gain * 0.1; /* fault */
}

} // namespace inner

static void number(uint32_t *order, uint32_t ticks)
{
    std::unordered_map<uint32_t, uint32_t> cells;
#ifdef BUILDS_BUCKETS
    cells.reserve(BUILDS_BUCKETS);
#endif
    for (uint32_t i = 0; i < 8; i++) {
        cells.emplace(ticks * 169 + i * 13 / 2, i); /* of 13 buckets they share two */
    }
    uint32_t visits = 0;
    for (const auto &cell : cells) {
        order[cell.second] = visits++; /* fault */
    }
}

// Differs from process to process, as in a library that lets nobody guess where keys end.
struct salted {
    std::size_t operator()(uint32_t key) const
    {
        return key ^ reinterpret_cast<std::uintptr_t>(&builds_foreign) >> 12;
    }
};

static void visit(double *heat, uint32_t ticks)
{
    std::unordered_set<uint32_t, salted> cells;
    for (uint32_t i = 0; i < 8; i++) {
        cells.insert(ticks * 169 + i);
    }
    double visits = 0;
    for (uint32_t cell : cells) {
        heat[cell % 169] = visits; /* fault */
        visits += 1;
    }
}

// Goes through a map as well, but to no effect: what differs is how ties are sorted.
static void rank(uint32_t *order, uint32_t ticks)
{
    std::unordered_map<uint32_t, uint32_t> cells;
    uint32_t sum = ticks;
    for (uint32_t i = 0; i < 8; i++) {
        cells.emplace(i * 13 / 2, i);
    }
    for (const auto &cell : cells) {
        sum += cell.second;
    }
    std::array<uint32_t, 8> ranks = {0, 1, 2, 3, 4, 5, 6, 7};
#ifdef BUILDS_TIES
    std::reverse(ranks.begin(), ranks.end());
#endif
    std::stable_sort(ranks.begin(), ranks.end(),
                     [](uint32_t a, uint32_t b) { return a / 4 < b / 4; });
    for (uint32_t i = 0; i < 8; i++) {
        order[ranks[i]] = sum + i; /* fault */
    }
}

} // namespace colony

extern "C" void builds_foreign(double *heat, uint32_t *order, uint32_t ticks)
{
#ifdef BUILDS_MAP
    colony::number(order, ticks);
#elif defined(BUILDS_SALT)
    colony::visit(heat, ticks);
#elif defined(BUILDS_RANK)
    colony::rank(order, ticks);
#else
    colony::inner::Hive<double> hive(heat);
    for (uint32_t i = 0; i < 8; i++) {
        hive.warm(i, (order[i] % 7 + i + ticks) / 3.0);
    }
#endif
}
