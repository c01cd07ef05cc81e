// Measures: the clock that an SM runs at right now.
// An item is one launch of one thread, which waits `ns` nanoseconds.
#include "roof.cuh"

extern "C" __global__ void clock_probe(u64* clocks, u64 ns) {
    // The timer ticks coarsely: start and stop on a tick.
    u64 tick = nanoseconds(), now;
    while ((now = nanoseconds()) == tick) {
    }
    watch_start(clocks);
    while (nanoseconds() < now + ns) {
    }
    watch_stop(clocks);
}
