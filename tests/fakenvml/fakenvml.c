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
 *   1.signed.193 -8              a signed one
 *   1.field32.186.2 52000        one of a scope (here of kind 2 of power)
 *   1.fielderror.74 15           what that field alone answers
 *   1.fieldtype.74 7             of which type it says that it is
 *   1.uuid_number 7              by which number its uuid ends, instead of its index
 *   1.xid 79                     GPU 1 reports this XID once, and again whenever the next number changes
 *   1.xid_number 2
 *   1.event 0x2000               GPU 1 reports another event once, and again with the next "event_number"
 *
 * FAKENVML_FIXED says that the file never changes, and is to be read once: then a call costs little.
 * FAKENVML_CALLS names a file to which each call is appended as a line "FUNCTION GPU" (GPU is - for the system's).
 * Compiled with -DOLD_DRIVER the functions are left out that drivers before branch 535 did not have.
 * What hardware.c and details.c add is not supported unless it is told; there are the lists. Profiles of whole GPUs are in profiles/.
 */
#include "fakenvml.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINES = 512, BUCKETS = 1024 };

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

Gpu gpus[MAX_GPUS], instances[MAX_GPUS][MAX_INSTANCES];
/* What was told, by a hash of its key: a call that is measured must cost the exporter and not this library. */
static struct { char key[96], value[64]; int next; } lines[MAX_LINES + 1];
static int buckets[BUCKETS], initialised;
static struct stat last_read;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void number_gpus(void) {
    for (int i = 0; i < MAX_GPUS; i++) {
        gpus[i] = (Gpu){.index = i, .slot = WHOLE};
        for (int slot = 0; slot < MAX_INSTANCES; slot++) instances[i][slot] = (Gpu){.index = i, .slot = slot};
    }
}

static int *bucket(const char *key) {
    unsigned hash = 5381;
    for (; *key; key++) hash = hash * 33 ^ (unsigned char)*key;
    return &buckets[hash % BUCKETS];
}

/* Call with the lock held. */
static void read_control(void) {
    const char *path = getenv("FAKENVML_CONTROL");
    struct stat now;
    if (!path || (last_read.st_ino && getenv("FAKENVML_FIXED")) || stat(path, &now)) return;
    if (now.st_ino == last_read.st_ino && now.st_mtim.tv_sec == last_read.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == last_read.st_mtim.tv_nsec)
        return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    last_read = now;
    memset(buckets, 0, sizeof buckets);
    /* Line 0 is the end of each chain; what is told last comes first in it. */
    for (int line = 1; line <= MAX_LINES; line++) {
        if (fscanf(file, "%95s %63[^\n]", lines[line].key, lines[line].value) != 2) break;
        int *first = bucket(lines[line].key);
        lines[line].next = *first, *first = line;
    }
    fclose(file);
}

int look_up(const char *key, char *value, size_t size) {
    pthread_mutex_lock(&lock);
    read_control();
    int line = *bucket(key);
    while (line && strcmp(lines[line].key, key)) line = lines[line].next;
    if (line) snprintf(value, size, "%s", lines[line].value);
    pthread_mutex_unlock(&lock);
    return line != 0;
}

/* The value of "GPU.name", else that of "name"; of a MIG instance with "mig.SLOT." before it. */
int told(const Gpu *gpu, const char *name, char *value, size_t size) {
    char key[160];
    if (gpu && gpu->slot != WHOLE) {
        snprintf(key, sizeof key, "%d.mig.%d.%s", gpu->index, gpu->slot, name);
        if (look_up(key, value, size)) return 1;
        snprintf(key, sizeof key, "mig.%d.%s", gpu->slot, name);
        return look_up(key, value, size);
    }
    if (gpu) {
        snprintf(key, sizeof key, "%d.%s", gpu->index, name);
        if (look_up(key, value, size)) return 1;
    }
    return look_up(name, value, size);
}

double number(const Gpu *gpu, const char *name, double otherwise) {
    char value[64];
    return told(gpu, name, value, sizeof value) ? strtod(value, NULL) : otherwise;
}

void record(const char *function, const Gpu *gpu) {
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
int begin(const char *function, const Gpu *gpu) {
    record(function, gpu);
    if (!initialised) return UNINITIALIZED;
    if (gpu && (gpu->index < 0 || gpu->index >= MAX_GPUS)) return INVALID_ARGUMENT;
    while (gpu && number(gpu, "hang", 0)) usleep(5000);
    int all = gpu ? (int)number(gpu, "all", SUCCESS) : SUCCESS;
    return all ? all : (int)number(gpu, function, SUCCESS);
}

int text(char *out, unsigned size, const char *value) {
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
    if (gpu->slot == WHOLE) snprintf(uuid, sizeof uuid, "GPU-fa4e0000-0000-4000-8000-%012d", (int)number(gpu, "uuid_number", gpu->index));
    else snprintf(uuid, sizeof uuid, "MIG-fa4e0000-0000-4000-8000-%06d%06d", gpu->index, gpu->slot);
    return text(out, size, uuid);
}
API nvmlDeviceGetName(Gpu *gpu, char *out, unsigned size) {
    BEGIN(gpu);
    char name[64];
    return text(out, size, told(gpu, "name", name, sizeof name) ? name : "Fake H200");
}
API nvmlDeviceGetVbiosVersion(Gpu *gpu, char *out, unsigned size) {
    BEGIN(gpu);
    char version[64];
    return text(out, size, told(gpu, "vbios", version, sizeof version) ? version : "96.00.A5.00.03");
}
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
static u64 total(const Gpu *gpu) { return (u64)number(gpu, "memory_total", (double)(143771ull << 20)); }
static u64 reserved(const Gpu *gpu) { return (u64)number(gpu, "memory_reserved", (double)(614ull << 20)); }
API nvmlDeviceGetMemoryInfo(Gpu *gpu, MemoryV1 *out) { /* version 1 counts the reserved bytes as used */
    BEGIN(gpu);
    u64 used = (u64)number(gpu, "memory_used", 1ull << 30);
    *out = (MemoryV1){.total = total(gpu), .free = total(gpu) - reserved(gpu) - used, .used = used + reserved(gpu)};
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
    *out = (unsigned)number(gpu, domain == 2 ? "memory_clock" : "clock", clocks[domain]);
    return SUCCESS;
}
API nvmlDeviceGetMaxClockInfo(Gpu *gpu, unsigned domain, unsigned *out) {
    BEGIN(gpu);
    const unsigned clocks[] = {1980, 1980, 3201, 1545};
    if (domain > 3) return INVALID_ARGUMENT;
    *out = (unsigned)number(gpu, domain == 2 ? "max_memory_clock" : "max_clock", clocks[domain]);
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
    out->total = total(gpu), out->reserved = reserved(gpu), out->used = used;
    out->free = out->total - out->reserved - used;
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

static int of_a_link(unsigned field) { return (field >= 138 && field <= 141) || (field >= 161 && field <= 166) || (field >= 201 && field <= 222); }

/* The value of a field: "field.ID" is of 64 bits, "field32.ID" of 32, "signed.ID" may be below 0. */
static void answer(const Gpu *gpu, Field *field) {
    const struct { const char *name; unsigned type; } types[] = {{"field", 3}, {"field32", 1}, {"signed", 5}};
    char key[48], value[64];
    snprintf(key, sizeof key, "fielderror.%u", field->field);
    field->result = (int)number(gpu, key, SUCCESS);
    for (int i = 0; i < 3; i++) {
        if (field->scope && !of_a_link(field->field)) snprintf(key, sizeof key, "%s.%u.%u", types[i].name, field->field, field->scope);
        else snprintf(key, sizeof key, "%s.%u", types[i].name, field->field);
        if (!told(gpu, key, value, sizeof value)) continue;
        if (types[i].type == 3) field->value.whole = strtoull(value, NULL, 0);
        else field->value.half = (unsigned)strtol(value, NULL, 0);
        snprintf(key, sizeof key, "fieldtype.%u", field->field);
        field->type = (unsigned)number(gpu, key, types[i].type);
        return;
    }
    if (!field->result) field->result = NOT_SUPPORTED;
}

API nvmlDeviceGetFieldValues(Gpu *gpu, int count, Field *fields) {
    BEGIN(gpu);
    int links = (int)number(gpu, "nvlinks", 0), any = 0;
    for (Field *field = fields; field < fields + count; field++) {
        int link = of_a_link(field->field);
        any |= link;
        if (link && field->scope != 0xffffffffu && (int)field->scope >= links) field->result = INVALID_ARGUMENT;
        else answer(gpu, field);
    }
    /* As a real driver was seen to do: who does not leave room for it loses memory. */
    if (any) fields[count].result = NOT_SUPPORTED;
    return SUCCESS;
}
