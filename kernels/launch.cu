// Question: how long does a launch take when the kernel does nothing?
// Item: one launch. bytes per item: 0. operations per item: 0.
// Expected opcodes: 1 EXIT, no memory access, no loop.
extern "C" __global__ void empty() {}
