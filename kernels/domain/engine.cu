// All kernels of a domain among others, compiled together for one run.
#define DOMAIN 1
#include "domain/advance.cu"
#include "domain/ghosts.cu"
#include "domain/migrate.cu"
#include "domain/rebuild.cu"
#include "domain/steps.cu"
#include "md/measure.cu"
#if PISTON
#include "md/piston.cuh"
#endif
