// All kernels of the engine, compiled together for one run.
#include "md/advance.cu"
#include "md/measure.cu"
#if PISTON
#include "md/piston.cuh"
#endif
#include "md/swaps.cuh"
