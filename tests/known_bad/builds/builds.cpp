// Builds, in C++: what builds.c calls, in namespaces, classes and templates.
#include <cstdint>
#include <unordered_map>

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
    for (uint32_t i = 0; i < 16; i++) {
        cells.emplace(ticks * 31 + i * 7, i);
    }
    uint32_t visits = 0;
    for (const auto &cell : cells) {
        order[cell.second % 8] = visits++; /* fault */
    }
}

} // namespace colony

extern "C" void builds_foreign(double *heat, uint32_t *order, uint32_t ticks)
{
#ifdef BUILDS_MAP
    colony::number(order, ticks);
#else
    colony::inner::Hive<double> hive(heat);
    for (uint32_t i = 0; i < 8; i++) {
        hive.warm(i, (order[i] % 7 + i + ticks) / 3.0);
    }
#endif
}
