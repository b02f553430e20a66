// Whether `reciprocal` rounds correctly on a GPU: a program of its own.
#include "arithmetic/reciprocal.cuh"

// Adds the number of x from 2^-100 to 2^100 for which it does not.
extern "C" __global__ void __launch_bounds__(256)
    count_wrong_reciprocals(u32 *wrong) {
    const u32 first = (127u - 100u) << 23, last = (127u + 100u) << 23;
    u32 found = 0;
    for (u32 bits = first + blockIdx.x * blockDim.x + threadIdx.x; bits < last; bits += gridDim.x * blockDim.x) {
        float x = float_from_bits(bits);
        found += to_bits(reciprocal(x)) != to_bits(__frcp_rn(x)) ? 1 : 0;
    }
    if (found != 0) atomicAdd(wrong, found);
}
