// All kernels of an engine of many systems, compiled together for one run.
#include "md/advance_members.cu"
#include "md/measure.cu"
#if PISTON
#include "md/piston.cuh"
#endif
#include "md/swaps.cuh"
