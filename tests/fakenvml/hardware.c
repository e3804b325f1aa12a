/*
 * What is told of a GPU beyond what every GPU has. Each is NOT_SUPPORTED until the control file names it:
 *
 *   serial, board_part_number              texts
 *   brand, architecture, minor_number, persistence_mode, compute_mode, performance_state, ecc_mode, mig_mode, gsp_mode,
 *   encoder, decoder, jpeg, ofa, bar1_total, bar1_used, margin, power_default, power_min, power_max,
 *   pcie_generation, pcie_generation_max, pcie_width, pcie_width_max, pcie_replays, pcie_tx, pcie_rx,
 *   remapped_corrected, remapped_uncorrected, remapped_pending, remapped_failure, fans, fan.0, nvlinks, nvlink.0
 *   compute_capability 9.0                 two numbers
 *   ecc.0.0 2                              errors of type 0 (corrected) or 1, of counter 0 (volatile) or 1
 *   threshold.1 89                         a temperature threshold
 *   samples.1 10,90,20                     samples of a kind, 1/6 s apart; a longer list has new ones at its end
 *   process.compute.0 4711:1073741824      a process, and the bytes that it uses or "-"; also graphics and mps
 *   gpm 1                                  GPM is supported
 *   gpm.2 83.5                             a GPM metric in percent
 *   mig.0 2                                slot 0 holds an instance of GPU instance 2
 *   mig.0.name NVIDIA H200 MIG 3g.71gb     a value of that instance, such as memory_total or process.compute.0
 *   mig_gpm.2.5 40                         a GPM metric of GPU instance 2
 *
 * Compiled with -DLONG_PROCESSES the third version of the process calls has the struct of the first 535 drivers, with
 * -DOLD_DRIVER there is only the second version.
 */
#include "fakenvml.h"

#define TEXT_IF_TOLD(function, key) API function(Gpu *gpu, char *out, unsigned size) { BEGIN(gpu); TOLD(gpu, key); return text(out, size, value_); }
#define PAIR_IF_TOLD(function, first_key, second) \
    API function(Gpu *gpu, unsigned *one, unsigned *two) { BEGIN(gpu); TOLD(gpu, first_key); *one = (unsigned)strtod(value_, NULL); *two = (unsigned)(second); return SUCCESS; }

TEXT_IF_TOLD(nvmlDeviceGetSerial, "serial")
TEXT_IF_TOLD(nvmlDeviceGetBoardPartNumber, "board_part_number")
IF_TOLD(nvmlDeviceGetBrand, unsigned, "brand")
IF_TOLD(nvmlDeviceGetArchitecture, unsigned, "architecture")
IF_TOLD(nvmlDeviceGetMinorNumber, unsigned, "minor_number")
IF_TOLD(nvmlDeviceGetPersistenceMode, unsigned, "persistence_mode")
IF_TOLD(nvmlDeviceGetComputeMode, unsigned, "compute_mode")
IF_TOLD(nvmlDeviceGetPerformanceState, unsigned, "performance_state")
PAIR_IF_TOLD(nvmlDeviceGetEccMode, "ecc_mode", *one)
PAIR_IF_TOLD(nvmlDeviceGetMigMode, "mig_mode", *one)
PAIR_IF_TOLD(nvmlDeviceGetGspFirmwareMode, "gsp_mode", *one)
PAIR_IF_TOLD(nvmlDeviceGetEncoderUtilization, "encoder", 167000)
PAIR_IF_TOLD(nvmlDeviceGetDecoderUtilization, "decoder", 167000)
PAIR_IF_TOLD(nvmlDeviceGetJpgUtilization, "jpeg", 167000)
PAIR_IF_TOLD(nvmlDeviceGetOfaUtilization, "ofa", 167000)
PAIR_IF_TOLD(nvmlDeviceGetPowerManagementLimitConstraints, "power_min", number(gpu, "power_max", 0))
IF_TOLD(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, "power_default")
IF_TOLD(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pcie_generation")
IF_TOLD(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, "pcie_generation_max")
IF_TOLD(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pcie_width")
IF_TOLD(nvmlDeviceGetMaxPcieLinkWidth, unsigned, "pcie_width_max")
IF_TOLD(nvmlDeviceGetPcieReplayCounter, unsigned, "pcie_replays")

API nvmlDeviceGetCudaComputeCapability(Gpu *gpu, int *major, int *minor) {
    BEGIN(gpu);
    TOLD(gpu, "compute_capability");
    return sscanf(value_, "%d.%d", major, minor) == 2 ? SUCCESS : INVALID_ARGUMENT;
}

typedef struct { u64 total, free, used; } Bar1;
API nvmlDeviceGetBAR1MemoryInfo(Gpu *gpu, Bar1 *out) {
    BEGIN(gpu);
    TOLD(gpu, "bar1_total");
    out->total = strtoull(value_, NULL, 10), out->used = (u64)number(gpu, "bar1_used", 0), out->free = out->total - out->used;
    return SUCCESS;
}

typedef struct { unsigned version; int margin; } Margin;
API nvmlDeviceGetMarginTemperature(Gpu *gpu, Margin *out) {
    BEGIN(gpu);
    if (out->version != (sizeof *out | 1u << 24)) return VERSION_MISMATCH;
    TOLD(gpu, "margin");
    out->margin = atoi(value_);
    return SUCCESS;
}

/* The value of a key that ends in a number. */
static int numbered(const Gpu *gpu, const char *name, unsigned index, char *value, size_t size) {
    char key[48];
    snprintf(key, sizeof key, "%s.%u", name, index);
    return told(gpu, key, value, size);
}
#define NUMBERED_IF_TOLD(function, name) \
    API function(Gpu *gpu, unsigned index, unsigned *out) { \
        char value[64]; \
        BEGIN(gpu); \
        if (!numbered(gpu, name, index, value, sizeof value)) return NOT_SUPPORTED; \
        *out = (unsigned)strtod(value, NULL); \
        return SUCCESS; \
    }
NUMBERED_IF_TOLD(nvmlDeviceGetTemperatureThreshold, "threshold")
NUMBERED_IF_TOLD(nvmlDeviceGetFanSpeed_v2, "fan")
API nvmlDeviceGetNumFans(Gpu *gpu, unsigned *out) { BEGIN(gpu); *out = (unsigned)number(gpu, "fans", 0); return SUCCESS; }
API nvmlDeviceGetPcieThroughput(Gpu *gpu, unsigned counter, unsigned *out) {
    BEGIN(gpu);
    TOLD(gpu, counter ? "pcie_rx" : "pcie_tx");
    *out = (unsigned)strtod(value_, NULL);
    return SUCCESS;
}

API nvmlDeviceGetTotalEccErrors(Gpu *gpu, unsigned type, unsigned counter, u64 *out) {
    BEGIN(gpu);
    char key[32];
    snprintf(key, sizeof key, "ecc.%u.%u", type, counter);
    TOLD(gpu, key);
    *out = strtoull(value_, NULL, 10);
    return SUCCESS;
}
API nvmlDeviceGetRemappedRows(Gpu *gpu, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failure) {
    BEGIN(gpu);
    TOLD(gpu, "remapped_pending");
    *pending = (unsigned)atoi(value_), *failure = (unsigned)number(gpu, "remapped_failure", 0);
    *corrected = (unsigned)number(gpu, "remapped_corrected", 0), *uncorrected = (unsigned)number(gpu, "remapped_uncorrected", 0);
    return SUCCESS;
}
API nvmlDeviceGetNvLinkState(Gpu *gpu, unsigned link, unsigned *out) {
    BEGIN(gpu);
    TOLD(gpu, "nvlinks");
    if (link >= strtoul(value_, NULL, 10)) return INVALID_ARGUMENT; /* and not NOT_SUPPORTED */
    char up[64];
    *out = numbered(gpu, "nvlink", link, up, sizeof up) ? (unsigned)atoi(up) : 1;
    return SUCCESS;
}

/* Samples lie 1/6 s apart from a fixed time on, so that a list that grows has new ones. */
typedef struct { u64 at; union { u64 whole; unsigned half; } value; } Sample;
API nvmlDeviceGetSamples(Gpu *gpu, unsigned kind, u64 since, unsigned *type, unsigned *count, Sample *out) {
    char list[64];
    unsigned found = 0;
    BEGIN(gpu);
    if (!numbered(gpu, "samples", kind, list, sizeof list)) return NOT_SUPPORTED;
    *type = 1;
    u64 at = FIRST_SAMPLE;
    for (char *rest = list, *one; (one = strtok_r(rest, ",", &rest)); at += BETWEEN_SAMPLES) {
        if (at <= since) continue;
        if (out && found < *count) out[found] = (Sample){.at = at, .value.half = (unsigned)strtoul(one, NULL, 10)};
        found++;
    }
    if (out && found > *count) return INSUFFICIENT_SIZE;
    *count = found;
    return found ? SUCCESS : NOT_FOUND;
}

/* Processes. */
#ifdef LONG_PROCESSES
typedef struct { unsigned pid; u64 used; unsigned gpu_instance, compute_instance; u64 protected_memory; } Process3;
#else
typedef struct { unsigned pid; u64 used; unsigned gpu_instance, compute_instance; } Process3;
#endif
typedef struct { unsigned pid; u64 used; unsigned gpu_instance, compute_instance; } Process2;
static unsigned instance_of(const Gpu *gpu) {
    char value[64];
    if (gpu->slot == WHOLE || !numbered(&gpus[gpu->index], "mig", (unsigned)gpu->slot, value, sizeof value)) return 0xffffffffu;
    return (unsigned)atoi(value);
}

static int list_processes(const Gpu *gpu, const char *kind, unsigned *count, void *out, size_t size) {
    char name[32], value[64];
    unsigned found = 0, room = *count;
    snprintf(name, sizeof name, "process.%s", kind);
    for (; found < MAX_PROCESSES && numbered(gpu, name, found, value, sizeof value); found++) {
        if (!out || found >= room) continue;
        char *bytes = strchr(value, ':') + 1;
        unsigned instance = instance_of(gpu);
        Process2 one = {.pid = (unsigned)atoi(value), .used = *bytes == '-' ? ~0ull : strtoull(bytes, NULL, 10), .gpu_instance = instance, .compute_instance = instance};
        char *place = (char *)out + found * size;
        memset(place, 0, size);
        memcpy(place, &one, sizeof one);
    }
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}
#define PROCESSES(function, kind, type) API function(Gpu *gpu, unsigned *count, type *out) { BEGIN(gpu); return list_processes(gpu, kind, count, out, sizeof *out); }
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, "compute", Process2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics", Process2)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, "mps", Process2)
#ifndef OLD_DRIVER
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, "compute", Process3)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics", Process3)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mps", Process3)
API nvmlDeviceGetConfComputeMemSizeInfo(Gpu *gpu, void *out) { (void)out; BEGIN(gpu); return NOT_SUPPORTED; }
#ifndef LONG_PROCESSES
API nvmlDeviceGetRunningProcessDetailList(Gpu *gpu, void *out) { (void)out; BEGIN(gpu); return NOT_SUPPORTED; }
#endif
#endif

/* MIG. */
API nvmlDeviceGetMaxMigDeviceCount(Gpu *gpu, unsigned *out) { BEGIN(gpu); *out = MAX_INSTANCES; return SUCCESS; }
API nvmlDeviceGetMigDeviceHandleByIndex(Gpu *gpu, unsigned slot, Gpu **out) {
    char value[64];
    BEGIN(gpu);
    if (slot >= MAX_INSTANCES) return INVALID_ARGUMENT;
    if (!numbered(gpu, "mig", slot, value, sizeof value)) return NOT_FOUND;
    *out = &instances[gpu->index][slot];
    return SUCCESS;
}
API nvmlDeviceGetGpuInstanceId(Gpu *gpu, unsigned *out) {
    BEGIN(gpu);
    *out = instance_of(gpu);
    return *out == 0xffffffffu ? INVALID_ARGUMENT : SUCCESS;
}
API nvmlDeviceGetComputeInstanceId(Gpu *gpu, unsigned *out) { BEGIN(gpu); *out = (unsigned)number(gpu, "compute_instance", 0); return SUCCESS; }

/* GPM: a sample remembers of what it was taken. */
typedef struct { const Gpu *gpu; int instance; } GpmSample;
typedef struct { unsigned version, supported; } GpmSupport;
typedef struct { unsigned metric; int result; double value; const char *names[3]; } GpmMetric;
typedef struct { unsigned version, count; GpmSample *earlier, *later; GpmMetric metrics[]; } GpmRequest;
API nvmlGpmQueryDeviceSupport(Gpu *gpu, GpmSupport *out) { BEGIN(gpu); out->supported = (unsigned)number(gpu, "gpm", 0); return SUCCESS; }
API nvmlGpmSampleAlloc(GpmSample **out) { BEGIN(NULL); *out = calloc(1, sizeof **out); return SUCCESS; }
API nvmlGpmSampleFree(GpmSample *sample) { BEGIN(NULL); free(sample); return SUCCESS; }
API nvmlGpmSampleGet(Gpu *gpu, GpmSample *out) { BEGIN(gpu); *out = (GpmSample){gpu, WHOLE}; return SUCCESS; }
API nvmlGpmMigSampleGet(Gpu *gpu, unsigned instance, GpmSample *out) { BEGIN(gpu); *out = (GpmSample){gpu, (int)instance}; return SUCCESS; }
API nvmlGpmMetricsGet(GpmRequest *request) {
    BEGIN(NULL);
    if (request->version != 1) return VERSION_MISMATCH;
    const GpmSample *of = request->later;
    if (!request->earlier || request->earlier->gpu != of->gpu || request->earlier->instance != of->instance) return INVALID_ARGUMENT;
    for (GpmMetric *metric = request->metrics; metric < request->metrics + request->count; metric++) {
        char key[48], value[64];
        if (of->instance == WHOLE) snprintf(key, sizeof key, "gpm.%u", metric->metric);
        else snprintf(key, sizeof key, "mig_gpm.%d.%u", of->instance, metric->metric);
        metric->result = told(of->gpu, key, value, sizeof value) ? SUCCESS : NOT_SUPPORTED;
        metric->value = metric->result ? 0 : strtod(value, NULL);
    }
    return SUCCESS;
}
