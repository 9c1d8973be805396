// Calls functions for f32 and f16 with the shapes of rows.h, which lab/measure_float.py writes, each between two marks.
#include "arm_nnfunctions.h"
#include "semihosting.h"
#include <stdint.h>
#include <string.h>

typedef struct {
    int16_t function, half, data, in[4], filter[4], out[4], stride[2], pad[2], dilation[2], ch_mult;
    int16_t packed, bias, clamped, adj_x, adj_y, activation;
    int32_t scratch;
} row;
#include "rows.h"

#define BYTES (512 * 1024)
static uint32_t input[BYTES / 4], weights[BYTES / 4], output[BYTES / 4], scratch[BYTES / 4];
extern uint32_t stack_top;
void start(void);
static void fault(void);
__attribute__((section(".vectors"), used)) void *vectors[16] = {&stack_top, start, fault, fault, fault, fault, fault};

static void fault(void)
{
    semihosting(4, "fault\n");
    end();
}

__attribute__((noinline, used)) void mark(void)
{
    __asm volatile("nop");
}

#define CALLER(T, NUMBER, LARGEST)                                                                                     \
    static void call_##T(const row *r)                                                                                 \
    {                                                                                                                  \
        const NUMBER *x = (NUMBER *)input, *w = (NUMBER *)weights, *b = r->bias ? w + 8 : NULL;                        \
        NUMBER *y = (NUMBER *)output, low = r->clamped ? (NUMBER)-1 : (NUMBER)-LARGEST;                                \
        const NUMBER high = r->clamped ? (NUMBER)1 : (NUMBER)LARGEST;                                                  \
        const cmsis_nn_context ctx = {r->scratch ? scratch : NULL, r->scratch};                                        \
        const cmsis_nn_dims in = {r->in[0], r->in[1], r->in[2], r->in[3]};                                             \
        const cmsis_nn_dims filter = {r->filter[0], r->filter[1], r->filter[2], r->filter[3]};                         \
        const cmsis_nn_dims out = {r->out[0], r->out[1], r->out[2], r->out[3]}, bias = {1, 1, 1, r->out[3]};           \
        const cmsis_nn_tile stride = {r->stride[1], r->stride[0]}, pad = {r->pad[1], r->pad[0]};                       \
        const cmsis_nn_tile dilation = {r->dilation[1], r->dilation[0]};                                               \
        const cmsis_nn_activation_##T clamp = {low, high};                                                             \
        const cmsis_nn_conv_params_##T conv = {stride, pad, dilation, clamp, r->packed};                               \
        const cmsis_nn_dw_conv_params_##T dw = {                                                                       \
            .ch_mult = r->ch_mult, .stride = stride, .padding = pad, .dilation = dilation, .activation = clamp};       \
        const cmsis_nn_transpose_conv_params_##T transposed = {                                                        \
            .stride = stride, .padding = pad, .dilation = dilation, .activation = clamp};                              \
        const cmsis_nn_fc_params_##T dense = {.activation = clamp, .weight_format = r->packed};                        \
        const cmsis_nn_bmm_params_##T product = {                                                                      \
            .adj_x = r->adj_x, .adj_y = r->adj_y, .activation = clamp, .rhs_format = r->packed};                       \
        const cmsis_nn_pool_params_##T pool = {.stride = stride, .padding = pad, .activation = clamp};                 \
        const cmsis_nn_transpose_params_##T turn = {                                                                   \
            r->ch_mult, {r->filter[0], r->filter[1], r->filter[2], r->filter[3]}, ARM_NN_LAYOUT_NHWC};                 \
        const cmsis_nn_lstm_gate_##T sigmoid = {w, w + 64, b, ARM_NN_FLT_ACT_SIGMOID};                                 \
        const cmsis_nn_lstm_gate_##T tanh = {w, w + 64, b, ARM_NN_FLT_ACT_TANH};                                       \
        const cmsis_nn_lstm_params_##T recurrent = {                                                                   \
            r->packed, in.n, in.w, in.c, out.c, 0, sigmoid, sigmoid, tanh, sigmoid};                                   \
        NUMBER *const memory = (NUMBER *)(scratch + BYTES / 8);                                                        \
        cmsis_nn_lstm_context_##T state = {NULL, NULL, (NUMBER *)scratch};                                             \
        const cmsis_nn_dims behind = out, deep = {in.n, in.c, 1, 1};                                                   \
        const cmsis_nn_context second = {scratch + BYTES / 16, BYTES / 4};                                             \
        const cmsis_nn_svdf_params_##T svdf = {out.c ? filter.n / out.c : 0, clamp, clamp};                            \
        const int numbers = in.n * in.h * in.w * in.c;                                                                 \
        mark();                                                                                                        \
        switch (r->function) {                                                                                         \
        case 0: arm_convolve_wrapper_##T(&ctx, &conv, &in, x, &filter, w, &bias, b, &out, y); break;                   \
        case 1: arm_depthwise_conv_wrapper_##T(&ctx, &dw, &in, x, &filter, w, &bias, b, &out, y); break;               \
        case 2:                                                                                                        \
            arm_transpose_conv_wrapper_##T(                                                                            \
                &ctx, &ctx, &transposed, &in, x, &filter, w, &bias, b, &out, y, ARM_NN_LAYOUT_NHWC);                   \
            break;                                                                                                     \
        case 3:                                                                                                        \
            arm_fully_connected_##T(&ctx, &dense, &in, x, &filter, w, &bias, b, &out, y, ARM_NN_LAYOUT_NHWC);          \
            break;                                                                                                     \
        case 4: arm_batch_matmul_##T(&ctx, &product, &in, x, &filter, w, &out, y); break;                              \
        case 5: arm_max_pool_##T(&ctx, &pool, &in, x, &filter, &out, y); break;                                        \
        case 6: arm_avg_pool_##T(&ctx, &pool, &in, x, &filter, &out, y); break;                                        \
        case 7: arm_elementwise_add_##T(x, w, y, low, high, numbers); break;                                           \
        case 8: arm_elementwise_mul_##T(x, w, y, low, high, numbers); break;                                           \
        case 9: arm_softmax_##T(x, in.n, in.c, y); break;                                                              \
        case 10: arm_nn_activation_##T(x, y, numbers, r->activation, (NUMBER)0.1f); break;                             \
        case 11: arm_batch_norm_##T(x, y, w, w + 8, &in, ARM_NN_LAYOUT_NHWC); break;                                   \
        case 12: arm_maximum_##T(&ctx, x, &in, w, &filter, y, &out); break;                                            \
        case 13: arm_minimum_##T(&ctx, x, &in, w, &filter, y, &out); break;                                            \
        case 14: arm_pad_##T(x, y, (NUMBER)0, &in, &filter, &behind); break;                                           \
        case 15: arm_transpose_##T(&ctx, &turn, &in, x, &out, y); break;                                               \
        case 16: arm_lstm_unidirectional_##T(x, y, &recurrent, &state); break;                                         \
        case 17: arm_concatenation_##T##_x(x, in.c, in.w, in.h, in.n, y, out.c, 0); break;                             \
        case 18: arm_reshape_##T(x, y, numbers); break;                                                                \
        case 19:                                                                                                       \
            arm_svdf_##T(                                                                                              \
                &ctx, &ctx, &second, &svdf, &deep, x, &filter, memory, &filter, w, &filter, w + 8192, &bias, b,        \
                &out, y);                                                                                              \
            break;                                                                                                     \
        case 20: arm_convolve_1x1_##T(&ctx, &conv, &in, x, &filter, w, &bias, b, &out, y, ARM_NN_LAYOUT_NHWC); break;  \
        case 21: arm_convolve_1_x_n_##T(&ctx, &conv, &in, x, &filter, w, &bias, b, &out, y, ARM_NN_LAYOUT_NHWC); break;\
        }                                                                                                              \
        mark();                                                                                                        \
    }
CALLER(f32, float32_t, 3.4028234e38f)
CALLER(f16, float16_t, 65504.0f)

// Data: random and never 0, all the same, far below one another, far above 0, small; an input and a memory of zeros,
// weights of zeros too; an input without numbers below 0.
static void fill(int half, int data)
{
    uint32_t *const tensors[4] = {input, weights, output, scratch};
    uint32_t state = 12345;
    for (int tensor = 0; tensor < 4; tensor++) {
        for (int index = 0; index < BYTES / (half ? 2 : 4); index++) {
            state = state * 1664525u + 1013904223u;
            float value = ((int)(state >> 20) - 2048) / 1024.0f;
            value = data == 1 || value == 0.0f ? 0.5f : value;
            value = data == 4 ? value / 100.0f : value;
            value = data == 2 ? -900.0f * (index % 61) - 100.0f : data == 3 ? 900.0f * (index % 61) + 100.0f : value;
            const int zero = tensor == 0 || tensor == 3 || (data == 6 && tensor == 1);
            if ((zero && (data == 5 || data == 6)) || (data == 7 && tensor == 0 && value < 0.0f))
                value = 0.0f;
            if (half)
                ((float16_t *)tensors[tensor])[index] = (float16_t)value;
            else
                ((float *)tensors[tensor])[index] = value;
        }
    }
}

__attribute__((noinline)) static void call_all(void)
{
    int filled = -1;
    for (unsigned index = 0; index < sizeof ROWS / sizeof ROWS[0]; index++) {
        const row *r = ROWS + index;
        if (filled != r->half * 8 + r->data)
            fill(r->half, r->data);
        filled = r->half * 8 + r->data;
        if (r->half)
            call_f16(r);
        else
            call_f32(r);
    }
}

void start(void)
{
    start_floats(); // before a function saves its registers
    call_all();
    end();
}
