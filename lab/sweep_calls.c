// Calls functions for integers with what lab/sweep_calls.py writes into calls.bin, and writes what they did to done.bin.
// A call that faults or does not end is left; the next one follows.
#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"
#include "semihosting.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { INPUT, SECOND, BIAS, MULTIPLIERS, SHIFTS, OUTPUT, BLOBS };
typedef struct {
    int32_t function, in[4], filter[4], out[4], stride[2], pad[2], after[2], dilation[2], ch_mult;
    int32_t zeros[3], limits[2], per_channel, more[12], bytes[BLOBS];
} call;
typedef struct {
    int32_t ended, status, asked[2], scratch_damage, output_damage, low_damage;
} report;

#define MOST (192 * 1024)
#define GUARD 256
#define LOW 4096
enum { GUARD_BYTE = 0xA5, SCRATCH_BYTE = 0xC3, OUTPUT_BYTE = 0x7F, BEHIND = 77 };
typedef struct {
    uint8_t before[GUARD], data[MOST], after[GUARD];
} __attribute__((aligned(16))) block;
static block blobs[BLOBS], scratches[2];
static call c;
static report r;
static int32_t files[2], taken;
static uint32_t vectors_before[16], wraps, running;
extern uint32_t stack_top, low_start[];
void start(void);
void go_on(void);
void trapped(uint32_t *frame, int32_t why);

__attribute__((naked)) static void fault(void)
{
    __asm volatile("mrs r0, msp\nmovs r1, #1\npush {lr}\nbl trapped\npop {pc}\n");
}

__attribute__((naked)) static void tick(void)
{
    __asm volatile("mrs r0, msp\nmovs r1, #2\npush {lr}\nbl trapped\npop {pc}\n");
}

__attribute__((section(".vectors"), used)) void *vectors[16] = {
    &stack_top, start, fault, fault, fault, fault, fault, fault, 0, 0, 0, fault, fault, 0, fault, tick};

static int32_t opened(const char *name, int32_t mode)
{
    const struct {
        const char *name;
        int32_t mode, length;
    } what = {name, mode, (int32_t)strlen(name)};
    return semihosting(1, &what);
}

// SYS_WRITE is 5, SYS_READ is 6; both answer how many bytes were left.
static int32_t moved(int32_t operation, void *data, int32_t size)
{
    const struct {
        int32_t file;
        void *data;
        int32_t size;
    } what = {files[operation == 5], data, size};
    return size ? semihosting(operation, &what) : 0;
}

#define SYSTICK ((volatile uint32_t *)0xE000E010)
static void clock_start(void)
{
    SYSTICK[1] = (1 << 24) - 1;
    SYSTICK[2] = 0;
    SYSTICK[0] = 7;
    wraps = 0;
}

// Goes on at go_on instead of where the call was; a clock's interrupt only after many.
__attribute__((used)) void trapped(uint32_t *frame, int32_t why)
{
    if (why == 2 && (!running || ++wraps < 20))
        return;
    r.ended = why;
    frame[6] = (uint32_t)go_on & ~1u;
    frame[7] = 1 << 24;
    *(volatile uint32_t *)0xE000ED28 = 0xFFFFFFFF; // no fault is pending
}

static int32_t damaged(const uint8_t *bytes, int32_t size, uint8_t was)
{
    int32_t count = 0;
    for (int32_t i = 0; i < size; i++)
        count += bytes[i] != was;
    return count;
}

static cmsis_nn_context buffer(int32_t size)
{
    r.asked[taken] = size;
    block *const given = &scratches[taken++];
    memset(given->before, GUARD_BYTE, GUARD);
    if (size > 0 && size <= MOST) {
        memset(given->data, SCRATCH_BYTE, (uint32_t)size);
        memset(given->data + size, GUARD_BYTE, GUARD);
    }
    const cmsis_nn_context ctx = {size > 0 && size <= MOST ? given->data : NULL, size};
    return ctx;
}

#define DIMS(d) {(d)[0], (d)[1], (d)[2], (d)[3]}
#define TILE(p) {.w = (p)[1], .h = (p)[0]}
static int32_t called(void)
{
    int8_t *const x = (int8_t *)blobs[INPUT].data, *const w = (int8_t *)blobs[SECOND].data;
    int8_t *const y = (int8_t *)blobs[OUTPUT].data;
    int16_t *const x16 = (int16_t *)x, *const w16 = (int16_t *)w, *const y16 = (int16_t *)y;
    void *const b = c.bytes[BIAS] ? blobs[BIAS].data : NULL;
    int32_t *const m = (int32_t *)blobs[MULTIPLIERS].data, *const s = (int32_t *)blobs[SHIFTS].data;
    const cmsis_nn_dims in = DIMS(c.in), filter = DIMS(c.filter), out = DIMS(c.out), bias = {1, 1, 1, c.out[3]};
    const cmsis_nn_activation clamp = {c.limits[0], c.limits[1]};
    const cmsis_nn_conv_params conv = {
        -c.zeros[0], c.zeros[2], TILE(c.stride), TILE(c.pad), TILE(c.dilation), {c.limits[0], c.limits[1]}};
    const cmsis_nn_dw_conv_params dw = {
        -c.zeros[0], c.zeros[2], c.ch_mult, TILE(c.stride), TILE(c.pad), TILE(c.dilation), {c.limits[0], c.limits[1]}};
    const cmsis_nn_transpose_conv_params turned = {-c.zeros[0], c.zeros[2], TILE(c.stride), TILE(c.pad),
                                                   TILE(c.after), TILE(c.dilation), {c.limits[0], c.limits[1]}};
    const cmsis_nn_pool_params pool = {TILE(c.stride), TILE(c.pad), clamp};
    const cmsis_nn_fc_params fc = {-c.zeros[0], -c.zeros[1], c.zeros[2], clamp};
    const cmsis_nn_bmm_params bmm = {false, false, fc};
    const cmsis_nn_per_channel_quant_params scales = {m, s};
    const cmsis_nn_per_tensor_quant_params scale = {m[0], s[0]};
    const cmsis_nn_quant_params any_scales = {m, s, c.per_channel};
    const cmsis_nn_bias_data wide = {b, false};
    const cmsis_nn_context none = {NULL, 0};
    const cmsis_nn_softmax_lut_s16 tables = {(int16_t *)w, (int16_t *)w + 513};
    const int32_t *const k = c.more, rows = c.in[0], row = c.in[3];
    cmsis_nn_context ctx, second;
    switch (c.function) {
    case 0:
        ctx = buffer(arm_convolve_wrapper_s8_get_buffer_size(&conv, &in, &filter, &out));
        return arm_convolve_wrapper_s8(&ctx, &conv, &scales, &in, x, &filter, w, &bias, b, &out, y);
    case 1:
        ctx = buffer(arm_convolve_wrapper_s16_get_buffer_size(&conv, &in, &filter, &out));
        return arm_convolve_wrapper_s16(&ctx, &conv, &scales, &in, x16, &filter, w, &bias, &wide, &out, y16);
    case 2:
        ctx = buffer(arm_convolve_wrapper_s4_get_buffer_size(&conv, &in, &filter, &out));
        return arm_convolve_wrapper_s4(&ctx, &conv, &scales, &in, x, &filter, w, &bias, b, &out, y);
    case 3:
        ctx = buffer(arm_depthwise_conv_wrapper_s8_get_buffer_size(&dw, &in, &filter, &out));
        return arm_depthwise_conv_wrapper_s8(&ctx, &dw, &scales, &in, x, &filter, w, &bias, b, &out, y);
    case 4:
        ctx = buffer(arm_depthwise_conv_wrapper_s16_get_buffer_size(&dw, &in, &filter, &out));
        return arm_depthwise_conv_wrapper_s16(&ctx, &dw, &scales, &in, x16, &filter, w, &bias, b, &out, y16);
    case 5:
        ctx = buffer(arm_depthwise_conv_wrapper_s4_get_buffer_size(&dw, &in, &filter, &out));
        return arm_depthwise_conv_wrapper_s4(&ctx, &dw, &scales, &in, x, &filter, w, &bias, b, &out, y);
    case 6:
        ctx = buffer(arm_transpose_conv_s8_get_buffer_size(&turned, &in, &filter, &out));
        second = buffer(arm_transpose_conv_s8_get_reverse_conv_buffer_size(&turned, &in, &filter));
        return arm_transpose_conv_wrapper_s8(&ctx, &second, &turned, &scales, &in, x, &filter, w, &bias, b, &out, y);
    case 7:
        ctx = buffer(arm_fully_connected_s8_get_buffer_size(&filter));
        if (ctx.buf)
            arm_vector_sum_s8(ctx.buf, filter.n, out.c, w, fc.input_offset, fc.filter_offset, b);
        return arm_fully_connected_wrapper_s8(&ctx, &fc, &any_scales, &in, x, &filter, w, &bias, b, &out, y);
    case 8:
        ctx = buffer(arm_fully_connected_s16_get_buffer_size(&filter));
        return arm_fully_connected_s16(&ctx, &fc, &scale, &in, x16, &filter, w, &bias, b, &out, y16);
    case 9:
        return arm_fully_connected_s4(&none, &fc, &scale, &in, x, &filter, w, &bias, b, &out, y);
    case 10:
        ctx = buffer(arm_avgpool_s8_get_buffer_size(out.w, in.c));
        return arm_avgpool_s8(&ctx, &pool, &in, x, &filter, &out, y);
    case 11:
        ctx = buffer(arm_avgpool_s16_get_buffer_size(out.w, in.c));
        return arm_avgpool_s16(&ctx, &pool, &in, x16, &filter, &out, y16);
    case 12: return arm_max_pool_s8(&none, &pool, &in, x, &filter, &out, y);
    case 13: return arm_max_pool_s16(&none, &pool, &in, x16, &filter, &out, y16);
    case 14:
        return arm_elementwise_add_s8(x, w, -c.zeros[0], k[0], k[1], -c.zeros[1], k[2], k[3], k[4], y, c.zeros[2],
                                      k[5], k[6], c.limits[0], c.limits[1], rows * row);
    case 15:
        return arm_elementwise_add_s16(x16, w16, -c.zeros[0], k[0], k[1], -c.zeros[1], k[2], k[3], k[4], y16,
                                       c.zeros[2], k[5], k[6], c.limits[0], c.limits[1], rows * row);
    case 16:
        return arm_elementwise_mul_s8(
            x, w, -c.zeros[0], -c.zeros[1], y, c.zeros[2], k[5], k[6], c.limits[0], c.limits[1], rows * row);
    case 17:
        return arm_elementwise_mul_s16(
            x16, w16, -c.zeros[0], -c.zeros[1], y16, c.zeros[2], k[5], k[6], c.limits[0], c.limits[1], rows * row);
    case 18: arm_softmax_s8(x, rows, row, k[0], k[1], k[2], y); return 0;
    case 19: arm_softmax_s8_s16(x, rows, row, k[0], k[1], k[2], y16); return 0;
    case 20: return arm_softmax_s16(x16, rows, row, k[0], k[1], &tables, y16);
    case 21: return arm_maximum_s8(&none, x, &in, w, &filter, y, &out);
    case 22: return arm_minimum_s8(&none, x, &in, w, &filter, y, &out);
    case 23: {
        const cmsis_nn_dims sums = {0, 0, 0, filter.w};
        ctx = buffer(arm_fully_connected_s8_get_buffer_size(&sums));
        return arm_batch_matmul_s8(&ctx, &bmm, &scale, &in, x, &filter, w, &out, y);
    }
    case 24: return arm_batch_matmul_s16(&none, &bmm, &scale, &in, x16, &filter, w16, &out, y16);
    case 25: {
        const cmsis_nn_dims before = DIMS(c.more), after = DIMS(c.more + 4);
        return arm_pad_s8(x, y, (int8_t)c.zeros[0], &in, &before, &after);
    }
    case 26: {
        const uint32_t order[4] = {c.more[1], c.more[2], c.more[3], c.more[4]};
        const cmsis_nn_transpose_params how = {c.more[0], order};
        return arm_transpose_s8(x, y, &in, &out, &how);
    }
    case 27: arm_concatenation_s8_x(x, in.c, in.w, in.h, in.n, y, out.c, k[0]); return 0;
    case 28: arm_concatenation_s8_y(x, in.c, in.w, in.h, in.n, y, out.w, k[0]); return 0;
    case 29: arm_concatenation_s8_z(x, in.c, in.w, in.h, in.n, y, out.h, k[0]); return 0;
    case 30: arm_concatenation_s8_w(x, in.c, in.w, in.h, in.n, y, k[0]); return 0;
    case 31: memcpy(y, x, (uint32_t)row); arm_relu_q7(y, row); return 0;
    case 32: memcpy(y, x, (uint32_t)row); arm_relu6_s8(y, row); return 0;
    case 33: memcpy(y, x, 2 * (uint32_t)row); arm_relu_q15(y16, row); return 0;
    }
    return -99;
}

static void finish(void)
{
    for (int32_t i = 0; i < taken; i++) {
        const int32_t size = r.asked[i] > 0 && r.asked[i] <= MOST ? r.asked[i] : 0;
        r.scratch_damage += damaged(scratches[i].before, GUARD, GUARD_BYTE);
        r.scratch_damage += size ? damaged(scratches[i].data + size, GUARD, GUARD_BYTE) : 0;
    }
    block *const output = &blobs[OUTPUT];
    r.output_damage = damaged(output->before, GUARD, GUARD_BYTE);
    r.output_damage += damaged(output->data + c.bytes[OUTPUT], GUARD, GUARD_BYTE);
    uint8_t *const low = (uint8_t *)low_start;
    r.low_damage = damaged(low + sizeof vectors_before, LOW - sizeof vectors_before, GUARD_BYTE);
    r.low_damage += 4 * (memcmp(low, vectors_before, sizeof vectors_before) != 0);
    memcpy(low, vectors_before, sizeof vectors_before);
    moved(5, &r, sizeof r);
    moved(5, output->data, c.bytes[OUTPUT]);
}

static void call_all(void)
{
    for (;;) {
        if (moved(6, &c, sizeof c))
            break;
        memset(&r, 0, sizeof r);
        taken = 0;
        for (int32_t blob = 0; blob < OUTPUT; blob++) {
            moved(6, blobs[blob].data, c.bytes[blob]);
            memset(blobs[blob].data + c.bytes[blob], BEHIND, 64);
        }
        memset(blobs[OUTPUT].before, GUARD_BYTE, GUARD);
        memset(blobs[OUTPUT].data, OUTPUT_BYTE, (uint32_t)c.bytes[OUTPUT]);
        memset(blobs[OUTPUT].data + c.bytes[OUTPUT], GUARD_BYTE, GUARD);
        memset((uint8_t *)low_start + sizeof vectors_before, GUARD_BYTE, LOW - sizeof vectors_before);
        clock_start();
        running = 1;
        r.status = called();
        running = 0;
        finish();
    }
    end();
}

__attribute__((used)) void after_trap(void)
{
    running = 0;
    finish();
    call_all();
}

__attribute__((naked)) void go_on(void)
{
    __asm volatile("ldr r0, =stack_top\nmov sp, r0\n"
#if defined(__ARM_FEATURE_MVE)
                   "mov r1, #0x40000\nvmsr fpscr, r1\nmovs r1, #0\nvmsr vpr, r1\n"
#endif
                   "b after_trap\n");
}

void start(void)
{
    start_floats(); // before a function saves its registers
    memcpy(vectors_before, low_start, sizeof vectors_before);
    files[0] = opened("calls.bin", 1);
    files[1] = opened("done.bin", 5);
    call_all();
}
