/*
 * What is told of a GPU beyond hardware.c, for the collectors that are off by default. Each is NOT_SUPPORTED until the
 * control file names it:
 *
 *   customer_boost, accounting_mode, unrepairable, virtualization, rpm.0     numbers
 *   event_types 0x2008, event_refused 0x2000    what it says that it reports, and what it refuses to all the same
 *   platform 1821325191344 21 4 1 3        chassis serial, slot, tray, host, module
 *   platform_version 1                     which version of that call there is; else the second
 *   ecc_at.0.2 5                           errors of type 0 (corrected) or 1, in place 2 (DRAM)
 *   sram 1 4 3 2 1 0                       threshold exceeded; aggregates of L2, SM, PCIe, MCU, other
 *   banks 2560 0 0 0 0                     banks by how many spare rows they have: max, high, partial, low, none
 *   repair 0 1                             repairs that wait: of a channel, of a TPC
 *   confidential 1, confidential_used      whether confidential computing is on, on the whole machine; bytes of a GPU
 *   fabric 3 0 170                         state, status, mask of health
 *   inforom 0                              what the check of the InfoROM returns
 *   used.0 4711:93                         a process, and percent of the multiprocessors' time that it used
 */
#include "fakenvml.h"

IF_TOLD(nvmlDeviceGetAccountingMode, unsigned, "accounting_mode")
IF_TOLD(nvmlDeviceGetVirtualizationMode, unsigned, "virtualization")
IF_TOLD(nvmlDeviceGetSupportedEventTypes, u64, "event_types")

API nvmlDeviceGetMaxCustomerBoostClock(Gpu *gpu, unsigned domain, unsigned *out) {
    BEGIN(gpu);
    if (domain) return INVALID_ARGUMENT;
    TOLD(gpu, "customer_boost");
    *out = (unsigned)strtod(value_, NULL);
    return SUCCESS;
}

typedef struct { unsigned version, fan, rpm; } FanSpeed;
API nvmlDeviceGetFanSpeedRPM(Gpu *gpu, FanSpeed *out) {
    char key[16];
    BEGIN(gpu);
    if (out->version != (sizeof *out | 1u << 24)) return VERSION_MISMATCH;
    snprintf(key, sizeof key, "rpm.%u", out->fan);
    TOLD(gpu, key);
    out->rpm = (unsigned)strtod(value_, NULL);
    return SUCCESS;
}

/* Of version 1 the 16 bytes of the chassis are a number and not a text. */
typedef struct { unsigned version; unsigned char infiniband[16]; char chassis[16]; unsigned char slot, tray, host, peer_type, module; } Platform;
API nvmlDeviceGetPlatformInfo(Gpu *gpu, Platform *out) {
    unsigned slot, tray, host, module;
    BEGIN(gpu);
    TOLD(gpu, "platform");
    unsigned version = (unsigned)number(gpu, "platform_version", 2);
    if (out->version != (sizeof *out | version << 24)) return VERSION_MISMATCH;
    if (sscanf(value_, "%16s %u %u %u %u", out->infiniband, &slot, &tray, &host, &module) != 5) return INVALID_ARGUMENT;
    memset(out->chassis, 0xff, sizeof out->chassis);
    if (version == 2) strncpy(out->chassis, (char *)out->infiniband, sizeof out->chassis);
    out->slot = (unsigned char)slot, out->tray = (unsigned char)tray;
    out->host = (unsigned char)host, out->module = (unsigned char)module;
    return SUCCESS;
}

API nvmlDeviceGetMemoryErrorCounter(Gpu *gpu, unsigned type, unsigned counter, unsigned place, u64 *out) {
    char key[32];
    BEGIN(gpu);
    if (counter) return INVALID_ARGUMENT; /* only those since the driver was loaded */
    snprintf(key, sizeof key, "ecc_at.%u.%u", type, place);
    TOLD(gpu, key);
    *out = strtoull(value_, NULL, 10);
    return SUCCESS;
}
typedef struct { unsigned version; u64 parity, secded, corrected, parity_now, secded_now, corrected_now, l2, sm, pcie, mcu, other; unsigned exceeded; } Sram;
API nvmlDeviceGetSramEccErrorStatus(Gpu *gpu, Sram *out) {
    BEGIN(gpu);
    TOLD(gpu, "sram");
    if (out->version != (sizeof *out | 1u << 24)) return VERSION_MISMATCH;
    int found = sscanf(value_, "%u %llu %llu %llu %llu %llu", &out->exceeded, &out->l2, &out->sm, &out->pcie, &out->mcu, &out->other);
    return found == 6 ? SUCCESS : INVALID_ARGUMENT;
}
typedef struct { unsigned max, high, partial, low, none; } Banks;
API nvmlDeviceGetRowRemapperHistogram(Gpu *gpu, Banks *out) {
    BEGIN(gpu);
    TOLD(gpu, "banks");
    int found = sscanf(value_, "%u %u %u %u %u", &out->max, &out->high, &out->partial, &out->low, &out->none);
    return found == 5 ? SUCCESS : INVALID_ARGUMENT;
}
typedef struct { unsigned version, channel, tpc; } Repair;
API nvmlDeviceGetRepairStatus(Gpu *gpu, Repair *out) {
    BEGIN(gpu);
    TOLD(gpu, "repair");
    if (out->version != (sizeof *out | 1u << 24)) return VERSION_MISMATCH;
    return sscanf(value_, "%u %u", &out->channel, &out->tpc) == 2 ? SUCCESS : INVALID_ARGUMENT;
}
typedef struct { unsigned version, flag; } Unrepairable;
API nvmlDeviceGetUnrepairableMemoryFlag_v1(Gpu *gpu, Unrepairable *out) {
    BEGIN(gpu);
    TOLD(gpu, "unrepairable");
    if (out->version != (sizeof *out | 1u << 24)) return VERSION_MISMATCH;
    out->flag = (unsigned)atoi(value_);
    return SUCCESS;
}
/* The bytes beside the state are not the driver's to write. */
typedef struct { unsigned version; unsigned char cluster[16]; unsigned status, clique; unsigned char state, beside[3]; unsigned health; } Fabric;
API nvmlDeviceGetGpuFabricInfoV(Gpu *gpu, Fabric *out) {
    unsigned state;
    BEGIN(gpu);
    TOLD(gpu, "fabric");
    if (out->version != (sizeof *out | 2u << 24)) return VERSION_MISMATCH;
    if (sscanf(value_, "%u %u %u", &state, &out->status, &out->health) != 3) return INVALID_ARGUMENT;
    out->state = (unsigned char)state, memset(out->beside, 0xff, sizeof out->beside);
    return SUCCESS;
}
typedef struct { unsigned environment, feature, devtools; } Confidential;
API nvmlSystemGetConfComputeState(Confidential *out) {
    BEGIN(NULL);
    TOLD(NULL, "confidential");
    *out = (Confidential){.feature = (unsigned)atoi(value_)};
    return SUCCESS;
}
typedef struct { u64 total, free, used; } Protected;
API nvmlDeviceGetConfComputeProtectedMemoryUsage(Gpu *gpu, Protected *out) {
    BEGIN(gpu);
    TOLD(gpu, "confidential_used");
    out->used = strtoull(value_, NULL, 10);
    return SUCCESS;
}
API nvmlDeviceValidateInforom(Gpu *gpu) {
    BEGIN(gpu);
    TOLD(gpu, "inforom");
    return atoi(value_);
}

/* Processes lie 1/6 s apart from a fixed time on, as samples do. */
typedef struct { unsigned pid; u64 at; unsigned sm, memory, encoder, decoder; } Used;
API nvmlDeviceGetProcessUtilization(Gpu *gpu, Used *out, unsigned *count, u64 since) {
    char key[16], value[64];
    unsigned found = 0, room = *count;
    u64 at = FIRST_SAMPLE;
    BEGIN(gpu);
    if (!told(gpu, "used.0", value, sizeof value)) return NOT_SUPPORTED;
    for (unsigned i = 0; i < MAX_PROCESSES; i++, at += BETWEEN_SAMPLES) {
        snprintf(key, sizeof key, "used.%u", i);
        if (!told(gpu, key, value, sizeof value)) break;
        if (at <= since) continue;
        if (out && found < room) out[found] = (Used){.pid = (unsigned)atoi(value), .at = at, .sm = (unsigned)atoi(strchr(value, ':') + 1)};
        found++;
    }
    *count = found;
    if (!found) return NOT_FOUND;
    return out && found <= room ? SUCCESS : INSUFFICIENT_SIZE;
}
