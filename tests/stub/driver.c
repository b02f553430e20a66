/* A driver library that shows what the environment says: the tests of `supercool doctor` need no GPU. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int setting(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

int cuDriverGetVersion(int *version) { *version = setting("STUB_VERSION", 13000); return 0; }
int cuInit(unsigned flags) { (void)flags; return setting("STUB_INIT", 0); }
int cuDeviceGetCount(int *count) { *count = setting("STUB_COUNT", 1); return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int length, int device) { (void)device; strncpy(name, "Stub GPU", length); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = (size_t)8 << 30; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 75 ? setting("STUB_MAJOR", 9) : attribute == 76 ? 0 : 1;
    return 0;
}
int cuDeviceCanAccessPeer(int *possible, int from, int to) { *possible = from < to; return 0; }
int cuGetErrorString(int status, const char **text) { (void)status; *text = "an error of the stub"; return 0; }
int cuGetErrorName(int status, const char **text) { (void)status; *text = "CUDA_ERROR_STUB"; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { (void)device; *context = &setting; return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return 0; }
int cuCtxSetCurrent(void *context) { (void)context; return 0; }
int cuCtxGetCurrent(void **context) { *context = &setting; return 0; }
int cuModuleLoadData(void **module, const void *image) { (void)image; *module = &setting; return setting("STUB_LOAD", 0); }
int cuModuleUnload(void *module) { (void)module; return 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total) { *free = (size_t)7 << 30; *total = (size_t)8 << 30; return 0; }
/* NVRTC asks a driver that is loaded for it. */
int cuGetExportTable(const void **table, const void *id) { (void)id; *table = NULL; return 1; }
