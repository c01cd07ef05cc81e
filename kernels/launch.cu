// Measures: the time of a launch whose kernel does nothing.
// An item is one launch.
extern "C" __global__ void empty() {}
