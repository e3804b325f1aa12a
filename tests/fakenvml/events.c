/* Events: each is reported to whoever waits, once for each "xid_number" or "event_number" (see fakenvml.c). */
#include "fakenvml.h"

#include <unistd.h>

enum { TIMEOUT = 10, XID_EVENT = 8, POLL_MICROSECONDS = 20000 };
typedef struct { u64 watched[MAX_GPUS]; } EventSet;
typedef struct { Gpu *gpu; u64 type, data; unsigned gpu_instance, compute_instance; } Event;

API nvmlEventSetCreate(EventSet **out) { BEGIN(NULL); *out = calloc(1, sizeof **out); return SUCCESS; }
API nvmlEventSetFree(EventSet *set) { BEGIN(NULL); free(set); return SUCCESS; }
API nvmlDeviceRegisterEvents(Gpu *gpu, u64 types, EventSet *set) {
    BEGIN(gpu);
    /* One type that the GPU has not is enough to refuse all. */
    if (types & ~(XID_EVENT | (u64)number(gpu, "event_types", 0)) || types & (u64)number(gpu, "event_refused", 0)) return NOT_SUPPORTED;
    set->watched[gpu->index] = types;
    return SUCCESS;
}

/* Whether this event is to be reported, which it is once for each "NAME_number". */
static u64 due(const Gpu *gpu, const char *name, double *reported) {
    char key[32];
    double value = number(gpu, name, 0);
    snprintf(key, sizeof key, "%s_number", name);
    double next = number(gpu, key, 1);
    if (!value || reported[gpu->index] == next) return 0;
    reported[gpu->index] = next;
    return (u64)value;
}

API nvmlEventSetWait_v2(EventSet *set, Event *out, unsigned milliseconds) {
    static double xids[MAX_GPUS], others[MAX_GPUS];
    BEGIN(NULL);
    if (getenv("FAKENVML_FIXED")) {
        usleep(milliseconds * 1000);
        return TIMEOUT;
    }
    for (long left = milliseconds * 1000L; left > 0; left -= POLL_MICROSECONDS) {
        for (int i = 0; i < MAX_GPUS; i++) {
            u64 xid = set->watched[i] & XID_EVENT ? due(&gpus[i], "xid", xids) : 0;
            u64 type = xid ? XID_EVENT : set->watched[i] ? due(&gpus[i], "event", others) & set->watched[i] : 0;
            if (!type) continue;
            *out = (Event){.gpu = &gpus[i], .type = type, .data = xid, .gpu_instance = -1u, .compute_instance = -1u};
            return SUCCESS;
        }
        usleep(POLL_MICROSECONDS);
    }
    return TIMEOUT;
}
