/* arm_softmax_s8 and arm_softmax_s8_s16 of CMSIS-NN 4.0.0, written from gemmlowp's rules with the fixed-point functions of
 * the library's own headers: for tests of the generated calls, where the library's own sources are not there. */
#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"

#define SUM_BITS 12

static int32_t power(int32_t below, int32_t mult, int32_t shift)
{
    return arm_nn_exp_on_negative_values(MUL_SAT(below * (1 << shift), mult));
}

static void write(void *output, int32_t place, int32_t bits, int32_t value)
{
    const int32_t lowest = -(1 << (bits - 1)), above = value + lowest, clamped = MIN(above, -lowest - 1);
    if (bits == 8)
    {
        ((int8_t *)output)[place] = (int8_t)clamped;
    }
    else
    {
        ((int16_t *)output)[place] = (int16_t)clamped;
    }
}

static void softmax(const int8_t *input, int32_t num_rows, int32_t row_size, int32_t mult, int32_t shift,
                    int32_t diff_min, int32_t bits, void *output)
{
    for (int32_t row = 0; row < num_rows; row++, input += row_size)
    {
        int32_t largest = input[0], sum = 0;
        for (int32_t c = 1; c < row_size; c++)
        {
            largest = MAX(largest, input[c]);
        }
        for (int32_t c = 0; c < row_size; c++)
        {
            const int32_t below = input[c] - largest;
            sum += below < diff_min ? 0 : DIV_POW2(power(below, mult, shift), SUM_BITS);
        }
        const int32_t headroom = __builtin_clz((uint32_t)sum);
        const int32_t one = ONE_OVER1((int32_t)(((uint32_t)sum << headroom) - (1u << 31)));
        for (int32_t c = 0; c < row_size; c++)
        {
            const int32_t below = input[c] - largest, right = SUM_BITS - headroom + 31 - bits;
            const int32_t share = below < diff_min ? 0 : DIV_POW2(MUL_SAT(one, power(below, mult, shift)), right);
            write(output, row * row_size + c, bits, share);
        }
    }
}

void arm_softmax_s8(const int8_t *input, const int32_t num_rows, const int32_t row_size, const int32_t mult,
                    const int32_t shift, const int32_t diff_min, int8_t *output)
{
    softmax(input, num_rows, row_size, mult, shift, diff_min, 8, output);
}

void arm_softmax_s8_s16(const int8_t *input, const int32_t num_rows, const int32_t row_size, const int32_t mult,
                        const int32_t shift, const int32_t diff_min, int16_t *output)
{
    softmax(input, num_rows, row_size, mult, shift, diff_min, 16, output);
}
