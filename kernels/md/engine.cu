// All kernels of the engine, compiled together for one run.
#include "md/advance.cu"
#include "md/measure.cu"
#include "md/swaps.cuh"
