/*
 * A stand-in for libnvidia-ml.so.1, as small as the tests of the GPU exporter need. It lets the real pynvml run
 * without a GPU. The structures follow NVIDIA's public nvml.h by layout; no code of NVIDIA's is in here.
 *
 * FAKENVML_CONTROL names a text file of "KEY VALUE" lines, read again whenever it is replaced:
 *
 *   driver 580.126.09            the driver's version
 *   gpus 2                       how many GPUs there are
 *   init 9                       what nvmlInit returns
 *   nvmlDeviceGetPowerUsage 3    what this function returns on every GPU
 *   1.nvmlDeviceGetPowerUsage 3  what it returns on GPU 1
 *   1.all 15                     what every function returns on GPU 1
 *   1.hang 1                     every function on GPU 1 blocks for as long as this line stands
 *   1.temperature 91             a value on GPU 1 (the names are where the functions are, below)
 *   temperature 91               the same on every GPU
 *   1.field.74 1500000000        a 64-bit field value; one that is not named answers NOT_SUPPORTED
 *   1.field32.251 1              a 32-bit one
 *   1.fielderror.74 15           what that field alone answers
 *
 * FAKENVML_CALLS names a file to which each call is appended as a line "FUNCTION GPU" (GPU is - for the system's).
 * Compiled with -DOLD_DRIVER the functions are left out that drivers before branch 535 did not have.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define API __attribute__((visibility("default"))) int
enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, VERSION_MISMATCH = 25 };
enum { MAX_GPUS = 16, MAX_LINES = 256 };

typedef unsigned long long u64;
typedef struct { int index; } Gpu;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { u64 total, free, used; } MemoryV1;
typedef struct { unsigned version; u64 total, reserved, free, used; } MemoryV2;
typedef struct { unsigned version, sensor; int celsius; } TemperatureV1;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;
typedef struct {
    unsigned field, scope;
    long long timestamp, latency;
    unsigned type;
    int result;
    union { u64 whole; unsigned half; } value;
} Field;

static Gpu gpus[MAX_GPUS];
static struct { char key[96], value[64]; } lines[MAX_LINES];
static int line_count, initialised;
static struct stat last_read;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void number_gpus(void) {
    for (int i = 0; i < MAX_GPUS; i++) gpus[i].index = i;
}

/* Call with the lock held. */
static void read_control(void) {
    const char *path = getenv("FAKENVML_CONTROL");
    struct stat now;
    if (!path || stat(path, &now)) return;
    if (now.st_ino == last_read.st_ino && now.st_mtim.tv_sec == last_read.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == last_read.st_mtim.tv_nsec)
        return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    last_read = now;
    line_count = 0;
    while (line_count < MAX_LINES && fscanf(file, "%95s %63s", lines[line_count].key, lines[line_count].value) == 2) line_count++;
    fclose(file);
}

static int look_up(const char *key, char *value, size_t size) {
    int found = 0;
    pthread_mutex_lock(&lock);
    read_control();
    for (int i = 0; i < line_count; i++)
        if (!strcmp(lines[i].key, key)) found = snprintf(value, size, "%s", lines[i].value) >= 0;
    pthread_mutex_unlock(&lock);
    return found;
}

/* The value of "GPU.name", else that of "name", else the default. */
static double number(const Gpu *gpu, const char *name, double otherwise) {
    char key[128], value[64];
    if (gpu) {
        snprintf(key, sizeof key, "%d.%s", gpu->index, name);
        if (look_up(key, value, sizeof value)) return strtod(value, NULL);
    }
    return look_up(name, value, sizeof value) ? strtod(value, NULL) : otherwise;
}

static void record(const char *function, const Gpu *gpu) {
    const char *path = getenv("FAKENVML_CALLS");
    if (!path) return;
    char line[128], index[16] = "-";
    if (gpu) snprintf(index, sizeof index, "%d", gpu->index);
    int length = snprintf(line, sizeof line, "%s %s\n", function, index);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0) return;
    if (write(file, line, (size_t)length) != length) abort();
    close(file);
}

/* What every call does first: it is recorded, it may hang, and it may be told to fail. */
static int begin(const char *function, const Gpu *gpu) {
    record(function, gpu);
    if (!initialised) return UNINITIALIZED;
    if (gpu && (gpu < gpus || gpu >= gpus + MAX_GPUS)) return INVALID_ARGUMENT;
    while (gpu && number(gpu, "hang", 0)) usleep(5000);
    int all = gpu ? (int)number(gpu, "all", SUCCESS) : SUCCESS;
    return all ? all : (int)number(gpu, function, SUCCESS);
}

#define BEGIN(gpu) do { int result = begin(__func__, gpu); if (result) return result; } while (0)
#define ANSWER(function, type, expression) API function(Gpu *gpu, type *out) { BEGIN(gpu); *out = (type)(expression); return SUCCESS; }

static int text(char *out, unsigned size, const char *value) {
    if (strlen(value) >= size) return INSUFFICIENT_SIZE;
    strcpy(out, value);
    return SUCCESS;
}

static const char *driver(char *buffer, size_t size) {
    if (!look_up("driver", buffer, size)) snprintf(buffer, size, "580.126.09");
    return buffer;
}

API nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    record(__func__, NULL);
    int result = (int)number(NULL, "init", SUCCESS);
    if (!result) initialised++;
    return result;
}
API nvmlShutdown(void) {
    record(__func__, NULL);
    if (!initialised) return UNINITIALIZED;
    initialised--;
    return SUCCESS;
}
API nvmlSystemGetDriverVersion(char *out, unsigned size) { BEGIN(NULL); char b[64]; return text(out, size, driver(b, sizeof b)); }
API nvmlSystemGetNVMLVersion(char *out, unsigned size) {
    BEGIN(NULL);
    char b[64], full[80];
    snprintf(full, sizeof full, "13.%s", driver(b, sizeof b));
    return text(out, size, full);
}
API nvmlSystemGetCudaDriverVersion(int *out) { BEGIN(NULL); *out = 13010; return SUCCESS; }
API nvmlDeviceGetCount_v2(unsigned *out) { BEGIN(NULL); *out = (unsigned)number(NULL, "gpus", 2); return SUCCESS; }
API nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu **out) {
    if (index >= MAX_GPUS || index >= number(NULL, "gpus", 2)) return INVALID_ARGUMENT;
    BEGIN(&gpus[index]);
    *out = &gpus[index];
    return SUCCESS;
}

API nvmlDeviceGetUUID(Gpu *gpu, char *out, unsigned size) {
    BEGIN(gpu);
    char uuid[64];
    snprintf(uuid, sizeof uuid, "GPU-fa4e0000-0000-4000-8000-%012d", gpu->index);
    return text(out, size, uuid);
}
API nvmlDeviceGetName(Gpu *gpu, char *out, unsigned size) { BEGIN(gpu); return text(out, size, "Fake H200"); }
API nvmlDeviceGetVbiosVersion(Gpu *gpu, char *out, unsigned size) { BEGIN(gpu); return text(out, size, "96.00.A5.00.03"); }
API nvmlDeviceGetPciInfo_v3(Gpu *gpu, Pci *out) {
    BEGIN(gpu);
    memset(out, 0, sizeof *out);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", 0x0f + 8 * gpu->index);
    return SUCCESS;
}

API nvmlDeviceGetUtilizationRates(Gpu *gpu, Utilization *out) {
    BEGIN(gpu);
    out->gpu = (unsigned)number(gpu, "utilization", 40);
    out->memory = (unsigned)number(gpu, "memory_utilization", 20);
    return SUCCESS;
}
static const u64 TOTAL = 143771ull << 20, RESERVED = 614ull << 20;
API nvmlDeviceGetMemoryInfo(Gpu *gpu, MemoryV1 *out) { /* version 1 counts the reserved bytes as used */
    BEGIN(gpu);
    u64 used = (u64)number(gpu, "memory_used", 1ull << 30);
    *out = (MemoryV1){.total = TOTAL, .free = TOTAL - RESERVED - used, .used = used + RESERVED};
    return SUCCESS;
}

static int temperature(const Gpu *gpu) { return (int)number(gpu, "temperature", 50); }
API nvmlDeviceGetTemperature(Gpu *gpu, unsigned sensor, unsigned *out) {
    BEGIN(gpu);
    if (sensor) return INVALID_ARGUMENT;
    *out = (unsigned)temperature(gpu);
    return SUCCESS;
}
API nvmlDeviceGetClockInfo(Gpu *gpu, unsigned domain, unsigned *out) {
    BEGIN(gpu);
    const unsigned clocks[] = {1500, 1501, 2600, 1400};
    if (domain > 3) return INVALID_ARGUMENT;
    *out = (unsigned)number(gpu, "clock", clocks[domain]);
    return SUCCESS;
}
API nvmlDeviceGetMaxClockInfo(Gpu *gpu, unsigned domain, unsigned *out) {
    BEGIN(gpu);
    const unsigned clocks[] = {1980, 1980, 3201, 1545};
    if (domain > 3) return INVALID_ARGUMENT;
    *out = clocks[domain];
    return SUCCESS;
}
ANSWER(nvmlDeviceGetPowerUsage, unsigned, number(gpu, "power", 300000))
ANSWER(nvmlDeviceGetPowerManagementLimit, unsigned, number(gpu, "power_limit", 700000))
ANSWER(nvmlDeviceGetEnforcedPowerLimit, unsigned, number(gpu, "enforced_power_limit", 650000))
ANSWER(nvmlDeviceGetTotalEnergyConsumption, u64, number(gpu, "energy", 1234567))
ANSWER(nvmlDeviceGetCurrentClocksThrottleReasons, u64, number(gpu, "reasons", 0))
ANSWER(nvmlDeviceGetSupportedClocksThrottleReasons, u64, number(gpu, "supported_reasons", 0x1ff))

#ifndef OLD_DRIVER
API nvmlDeviceGetMemoryInfo_v2(Gpu *gpu, MemoryV2 *out) {
    BEGIN(gpu);
    if (out->version != (sizeof *out | 2u << 24)) return VERSION_MISMATCH;
    u64 used = (u64)number(gpu, "memory_used", 1ull << 30);
    out->total = TOTAL, out->reserved = RESERVED, out->used = used, out->free = TOTAL - RESERVED - used;
    return SUCCESS;
}
API nvmlDeviceGetTemperatureV(Gpu *gpu, TemperatureV1 *out) {
    BEGIN(gpu);
    if (out->version != (sizeof *out | 1u << 24)) return VERSION_MISMATCH;
    out->celsius = temperature(gpu);
    return SUCCESS;
}
ANSWER(nvmlDeviceGetCurrentClocksEventReasons, u64, number(gpu, "reasons", 0))
ANSWER(nvmlDeviceGetSupportedClocksEventReasons, u64, number(gpu, "supported_reasons", 0x1ff))
#endif

enum { UNSIGNED_32 = 1, UNSIGNED_64 = 3 };
API nvmlDeviceGetFieldValues(Gpu *gpu, int count, Field *fields) {
    BEGIN(gpu);
    for (Field *field = fields; field < fields + count; field++) {
        char whole[32], half[32], result[32];
        snprintf(whole, sizeof whole, "field.%u", field->field);
        snprintf(half, sizeof half, "field32.%u", field->field);
        snprintf(result, sizeof result, "fielderror.%u", field->field);
        field->result = (int)number(gpu, result, SUCCESS);
        if (number(gpu, whole, -1) >= 0) {
            field->type = UNSIGNED_64;
            field->value.whole = (u64)number(gpu, whole, 0);
        } else if (number(gpu, half, -1) >= 0) {
            field->type = UNSIGNED_32;
            field->value.half = (unsigned)number(gpu, half, 0);
        } else if (!field->result) {
            field->result = NOT_SUPPORTED;
        }
    }
    return SUCCESS;
}
