// Fourier modes of the density of each species, rho_a(q) = sum_i^a exp(i q . r_i), for a batch of samples.
//
// Phases are integers, exact modulo a turn (`pair_terms.cuh`). Chunks of particles are fixed, as is the order within
// them and of their sums.
//
//   DIMENSION, SPECIES_COUNT
#include "observable/pair_terms.cuh"
#include "observable/records.cuh"

#include "shared/blocks.cuh"
#include "shared/chunk.cuh"
#include "shared/densities.cuh"
#include "shared/mode_sums.cuh"

// Sums over chunks: by sample, chunk, vector.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    add_modes(const __grid_constant__ Records records, const u32 *slots, const Chunk *chunks, const WaveVector *vectors,
              u32 vector_count, Mode *partial) {
    __shared__ u32 fractions[DIMENSION][CHUNK];
    Chunk chunk = chunks[blockIdx.x];
    const u32 *sample = sample_of(records, slots[blockIdx.y]) + (size_t)chunk.start * RECORD_WORDS;
    for (u32 p = threadIdx.x; p < chunk.count; p += 32 * WARPS) {
        Record record;
        record.load(sample + p * RECORD_WORDS);
#pragma unroll
        for (int axis = 0; axis < DIMENSION; ++axis) fractions[axis][p] = record.fraction(axis);
    }
    __syncthreads();
    u32 lane = threadIdx.x & 31;
    for (u32 v = threadIdx.x >> 5; v < vector_count; v += WARPS) {
        WaveVector vector = vectors[v];
        Mode mode = {0.0f, 0.0f};
        for (u32 p = lane; p < chunk.count; p += 32) {
            u32 turns = 0;
#pragma unroll
            for (int axis = 0; axis < DIMENSION; ++axis) turns += vector.n[axis] * fractions[axis][p];
            mode.cosine = add(mode.cosine, cosine_of_turns(turns));
            mode.sine = add(mode.sine, cosine_of_turns(turns - (1u << 30)));
        }
#pragma unroll
        for (u32 offset = 16; offset > 0; offset >>= 1) {
            mode.cosine = add(mode.cosine, __shfl_xor_sync(~0u, mode.cosine, offset));
            mode.sine = add(mode.sine, __shfl_xor_sync(~0u, mode.sine, offset));
        }
        if (lane == 0) partial[((size_t)blockIdx.y * gridDim.x + blockIdx.x) * vector_count + v] = mode;
    }
}

// Sums over the chunks of each species: by sample, species, vector, part. A block for each sample, whose centre of mass
// it takes out of those of all slots.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
    add_chunks(const u32 *first, const Mode *partial, u32 vector_count, double *modes,
               const u32 *slots, const Center *centers, Center *chosen) {
    if (threadIdx.x == 0) chosen[blockIdx.x] = centers[slots[blockIdx.x]];
    u32 chunks = first[SPECIES_COUNT];
    for (u32 at = threadIdx.x; at < SPECIES_COUNT * vector_count; at += 32 * WARPS) {
        u32 species = at / vector_count, vector = at % vector_count;
        double cosine = 0.0, sine = 0.0;
        for (u32 chunk = first[species]; chunk < first[species + 1]; ++chunk) {
            Mode mode = partial[((size_t)blockIdx.x * chunks + chunk) * vector_count + vector];
            cosine = add(cosine, (double)mode.cosine);
            sine = add(sine, (double)mode.sine);
        }
        double *to = modes + ((size_t)blockIdx.x * SPECIES_COUNT * vector_count + at) * 2;
        to[0] = cosine;
        to[1] = sine;
    }
}
