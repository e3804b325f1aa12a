/* What the files of the fake library share; fakenvml.c says how it is told what to answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default"))) int
enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, VERSION_MISMATCH = 25 };
enum { MAX_GPUS = 16, MAX_INSTANCES = 7, MAX_PROCESSES = 64, WHOLE = -1 };

typedef unsigned long long u64;
/* A GPU, or with a slot one of its MIG instances. */
typedef struct { int index, slot; } Gpu;
extern Gpu gpus[MAX_GPUS], instances[MAX_GPUS][MAX_INSTANCES];

int look_up(const char *key, char *value, size_t size);
int told(const Gpu *gpu, const char *name, char *value, size_t size);
double number(const Gpu *gpu, const char *name, double otherwise);
void record(const char *function, const Gpu *gpu);
int begin(const char *function, const Gpu *gpu);
int text(char *out, unsigned size, const char *value);

#define BEGIN(gpu) do { int result = begin(__func__, gpu); if (result) return result; } while (0)
#define ANSWER(function, type, expression) API function(Gpu *gpu, type *out) { BEGIN(gpu); *out = (type)(expression); return SUCCESS; }

/* A function that is not supported unless the control file names the key. */
#define TOLD(gpu, key) char value_[64]; if (!told(gpu, key, value_, sizeof value_)) return NOT_SUPPORTED
#define IF_TOLD(function, type, key) API function(Gpu *gpu, type *out) { BEGIN(gpu); TOLD(gpu, key); *out = (type)strtod(value_, NULL); return SUCCESS; }

/* When the first sample of any kind was taken, and how far apart they are, in microseconds. */
#define FIRST_SAMPLE 1700000000000000ull
#define BETWEEN_SAMPLES 166667ull
