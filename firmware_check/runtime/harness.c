/* Runs the layers of the generated model on the inputs from the host, and reports on each. */
#include "firmware.h"
#include "host.h"
#include "trace.h"

#include <string.h>

extern uint8_t __scratch_start[], __scratch_end[], __low_start[], __low_end[];
static uint8_t vectors_before[64];

volatile uint32_t current_layer;
volatile uint32_t systick_wraps;
static volatile uint32_t in_layer;
static uint32_t first_run, began, spent; /* SysTick counts */

#define SYST_CSR (*(volatile uint32_t *)0xe000e010)
#define SYST_RVR (*(volatile uint32_t *)0xe000e014)
#define SYST_CVR (*(volatile uint32_t *)0xe000e018)
enum { WRAP = 1 << 24, MAX_WRAPS = 8 }; /* a layer that takes more is taken for an endless loop */

static struct
{
    uint32_t taken; /* bytes handed out in this layer, guards included */
    uint32_t asked[2], sizes[2]; /* what the size functions answered, and what was handed out */
    uint32_t count;
} scratch;

/* A layer begins with a clock of 0: how long the firmware waited for the host would else be in its count's last digit. */
static void systick_restart(void)
{
    SYST_RVR = WRAP - 1;
    SYST_CVR = 0;
    SYST_CSR = 7; /* processor clock, interrupt, on */
    while (SYST_CVR == 0) /* until the first count, which loads SYST_RVR */
    {
    }
    systick_wraps = 0;
}

static uint32_t ticks_now(void)
{
    uint32_t wraps, value;
    do
    {
        wraps = systick_wraps;
        value = SYST_CVR;
    } while (wraps != systick_wraps);
    return wraps * WRAP + (WRAP - 1 - value);
}

void measure_begin(void)
{
    trace_start(first_run);
    began = ticks_now();
}

void measure_end(void)
{
    spent += ticks_now() - began;
    trace_stop();
}

uint32_t measured(void)
{
    return spent;
}

static void stop(const char *kind, uint32_t first, uint32_t second)
{
    host_open();  /* a fault at start-up comes before main */
    report_end(); /* a fault may have cut off a line */
    report_begin(kind);
    report_word(current_layer);
    report_word(first);
    report_word(second);
    report_end();
    host_exit();
}

void systick_handler(void)
{
    systick_wraps++;
    if (in_layer && systick_wraps > MAX_WRAPS) /* waiting for the host is no layer's */
    {
        stop("watchdog", systick_wraps, 0);
    }
}

void fault(const uint32_t *frame)
{
    stop("fault", frame[6], *(volatile uint32_t *)0xe000ed28); /* program counter, CFSR */
}

void *scratch_take(int32_t size)
{
    return scratch_give(size, size);
}

void *scratch_give(int32_t asked, int32_t size)
{
    if (scratch.count < 2)
    {
        scratch.asked[scratch.count] = (uint32_t)asked;
        scratch.sizes[scratch.count++] = (uint32_t)size;
    }
    if (size <= 0)
    {
        return 0;
    }
    uint8_t *start = __scratch_start + scratch.taken;
    const uint32_t whole = ((uint32_t)size + 15) & ~15u;
    if (start + GUARD_BYTES + whole + BEHIND_BYTES > __scratch_end)
    {
        stop("memory", (uint32_t)size, (uint32_t)(__scratch_end - start));
    }
    memset(start, GUARD_BYTE, GUARD_BYTES + whole + BEHIND_BYTES);
    memset(start + GUARD_BYTES, SCRATCH_BYTE, (uint32_t)size);
    scratch.taken += GUARD_BYTES + whole + BEHIND_BYTES;
    return start + GUARD_BYTES;
}

typedef struct
{
    uint32_t count; /* bytes that changed */
    uint32_t first, end; /* the first of them, and one behind the last */
} damage;

static damage damaged(const uint8_t *guard, uint32_t size)
{
    damage found = {0, size, 0};
    for (uint32_t i = 0; i < size; i++)
    {
        if (guard[i] != GUARD_BYTE)
        {
            found.count++;
            found.first = i < found.first ? i : found.first;
            found.end = i + 1;
        }
    }
    return found;
}

/* Of all scratch of the layer: bytes around it that changed, and how far behind it the last of them is. */
static damage scratch_damage(void)
{
    damage all = {0, 0, 0};
    uint8_t *start = __scratch_start;
    for (uint32_t i = 0; i < scratch.count; i++)
    {
        const uint32_t size = scratch.sizes[i];
        if ((int32_t)size > 0)
        {
            const uint32_t room = (((size + 15) & ~15u) - size) + BEHIND_BYTES;
            const damage behind = damaged(start + GUARD_BYTES + size, room);
            all.count += damaged(start, GUARD_BYTES).count + behind.count;
            all.end = behind.end > all.end ? behind.end : all.end;
            start += GUARD_BYTES + size + room;
        }
    }
    return all;
}

static uint32_t low_free(void)
{
    return (uint32_t)(__low_end - __low_start) - sizeof vectors_before;
}

/* The start of the flash, where a kernel without scratch may write: vectors, and what the linker leaves free there. */
static void guard_low(void)
{
    memcpy(vectors_before, __low_start, sizeof vectors_before);
    memset(__low_start + sizeof vectors_before, GUARD_BYTE, low_free());
}

static damage low_damage(void)
{
    damage low = damaged(__low_start + sizeof vectors_before, low_free());
    low.first += sizeof vectors_before;
    low.end += low.count ? sizeof vectors_before : 0;
    for (uint32_t i = sizeof vectors_before; i-- > 0;)
    {
        if (__low_start[i] != vectors_before[i])
        {
            low.first = i;
            low.end = low.end ? low.end : i + 1;
            low.count++;
        }
    }
    memcpy(__low_start, vectors_before, low.count ? sizeof vectors_before : 0);
    return low;
}

/* Bytes of the first buffer up to the last one that changed. */
static uint32_t scratch_written(void)
{
    uint32_t size = scratch.count > 0 && (int32_t)scratch.sizes[0] > 0 ? scratch.sizes[0] : 0;
    while (size > 0 && __scratch_start[GUARD_BYTES + size - 1] == SCRATCH_BYTE)
    {
        size--;
    }
    return size;
}

static void guard_outputs(const layer *one)
{
#ifdef GUARDED
    for (uint32_t i = 0; i < one->output_count; i++)
    {
        memset(one->outputs[i].data - GUARD_BYTES, GUARD_BYTE, GUARD_BYTES);
        memset(one->outputs[i].data + one->outputs[i].size, GUARD_BYTE, GUARD_BYTES);
    }
#else
    (void)one;
#endif
}

static uint32_t output_damage(const layer *one)
{
    uint32_t count = 0;
#ifdef GUARDED
    for (uint32_t i = 0; i < one->output_count; i++)
    {
        count += damaged((uint8_t *)one->outputs[i].data - GUARD_BYTES, GUARD_BYTES).count;
        count += damaged((uint8_t *)one->outputs[i].data + one->outputs[i].size, GUARD_BYTES).count;
    }
#else
    (void)one;
#endif
    return count;
}

static void report_layer(uint32_t index, int32_t status, uint32_t ticks)
{
    report_begin("layer");
    report_word(index);
    report_word((uint32_t)status);
    report_word(ticks);
    report_word(scratch.count > 0 ? scratch.asked[0] : 0);
    report_word(scratch.count > 1 ? scratch.asked[1] : 0);
    const damage behind = scratch_damage(), low = low_damage();
    report_word(behind.count);
    report_word(output_damage(&layers[index]));
    report_word(scratch_written());
    report_word(behind.end);
    report_word(low.count ? low.first : 0);
    report_word(low.end);
    report_end();
}

static void run_layer(uint32_t index)
{
    current_layer = index;
    spent = 0;
    memset(&scratch, 0, sizeof scratch);
    trace_clear();
    systick_restart();
    if (first_run)
    {
        guard_low();
    }
    in_layer = 1;
    const int32_t status = layers[index].run();
    in_layer = 0;
    if (first_run)
    {
        report_layer(index, status, spent);
        trace_report(index);
    }
}

static void read_regions(const region *regions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
    {
        host_read(regions[i].data, regions[i].size);
    }
}

static void write_regions(const region *regions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
    {
        host_write(regions[i].data, regions[i].size);
    }
}

int main(void)
{
    /* runs; whether to write every layer's outputs rather than the results alone; whether the host gives each layer its
       inputs, rather than the model at the start of a run */
    uint32_t header[3];
    host_open();
    host_read(header, sizeof header);
    for (uint32_t run = 0; run < header[0]; run++)
    {
        first_run = run == 0;
        read_regions(inputs, header[2] ? 0 : input_count);
        for (uint32_t i = 0; i < layer_count; i++)
        {
            guard_outputs(&layers[i]);
            read_regions(layers[i].inputs, header[2] ? layers[i].input_count : 0);
            run_layer(i);
            if (header[1])
            {
                write_regions(layers[i].outputs, layers[i].output_count);
            }
        }
        if (!header[1])
        {
            write_regions(results, result_count);
        }
    }
    report_begin("done");
    report_end();
    host_exit();
}
