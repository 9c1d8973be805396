/* What the generated model gives to the harness, and what the harness gives to it. */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdint.h>

/* Around values, and behind scratch: as far as a kernel that is given too little has been seen to write. Each build has
   another byte there, so that whatever is written differs from one of them. */
enum
{
    GUARD_BYTES = 128,
    BEHIND_BYTES = 32 << 10,
#ifdef TRACED
    GUARD_BYTE = 0xa5,
#else
    GUARD_BYTE = 0x5a,
#endif
    SCRATCH_BYTE = 0xa5,
};

typedef struct
{
    int8_t *data;
    uint32_t size; /* bytes */
} region;

typedef struct
{
    int32_t (*run)(void); /* returns the status of the CMSIS-NN call, 0 where the layer is reference code */
    const region *inputs; /* read by the layer */
    uint32_t input_count;
    const region *outputs; /* written by the layer, with guards around each where the build has them */
    uint32_t output_count;
} layer;

extern const layer layers[];
extern const uint32_t layer_count;
extern const region inputs[];
extern const uint32_t input_count;
extern const region results[];
extern const uint32_t result_count;

/* Scratch of the size that the library asks for: `size` bytes, guarded; NULL where the size is 0. */
void *scratch_take(int32_t size);

/* Scratch of another size than the library asks for. */
void *scratch_give(int32_t asked, int32_t size);

/* Runs one call of the layer with trace and clock on; its value is the call's. */
#define MEASURED(call)                                                                                                 \
    (__extension__({                                                                                                   \
        measure_begin();                                                                                               \
        const int32_t result_of_call = (call);                                                                         \
        measure_end();                                                                                                 \
        result_of_call;                                                                                                \
    }))

/* Counts of SysTick measured in this layer so far. */
uint32_t measured(void);

void measure_begin(void);
void measure_end(void);

#endif
