/* The s16 functions of CMSIS-NN 4.0.0 that generated code calls, written from TensorFlow Lite's rules for 16x8 bits:
 * for tests of the generated calls, where the library's own sources are not there. */
#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"

static int16_t clamped(int64_t value, const cmsis_nn_activation *limits)
{
    return (int16_t)(value < limits->min ? limits->min : value > limits->max ? limits->max : value);
}

/* TensorFlow Lite rescales an int64 sum by a multiplier of 16 bits. */
static int64_t wide(int64_t sum, int32_t multiplier, int32_t shift)
{
    const int64_t reduced = multiplier < 0x7fff0000 ? (multiplier + (1 << 15)) >> 16 : 0x7fff;
    return (sum * reduced + ((int64_t)1 << (14 - shift))) >> (15 - shift);
}

static int32_t narrow(int32_t value, int32_t multiplier, int32_t shift)
{
    return (int32_t)(((int64_t)value * multiplier + ((int64_t)1 << (30 - shift))) >> (31 - shift));
}

typedef struct
{
    cmsis_nn_tile stride, padding, dilation;
    const cmsis_nn_dims *input, *filter;
    int32_t first, step, filter_step; /* first input channel of an output, elements from one tap's channels to the next */
} window;

static int64_t product(const window *v, const int16_t *input, const int8_t *filter, int32_t y, int32_t x)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < v->filter->h; i++)
    {
        for (int32_t j = 0; j < v->filter->w; j++)
        {
            const int32_t row = y * v->stride.h - v->padding.h + i * v->dilation.h;
            const int32_t column = x * v->stride.w - v->padding.w + j * v->dilation.w;
            if (row < 0 || row >= v->input->h || column < 0 || column >= v->input->w)
            {
                continue;
            }
            const int16_t *pixel = input + (row * v->input->w + column) * v->input->c + v->first;
            const int8_t *tap = filter + (i * v->filter->w + j) * v->filter_step;
            for (int32_t c = 0; c < v->step; c++)
            {
                sum += (int64_t)pixel[c] * tap[c];
            }
        }
    }
    return sum;
}

int32_t arm_convolve_wrapper_s16_get_buffer_size(const cmsis_nn_conv_params *conv_params,
                                                 const cmsis_nn_dims *input_dims, const cmsis_nn_dims *filter_dims,
                                                 const cmsis_nn_dims *output_dims)
{
    (void)conv_params, (void)input_dims, (void)filter_dims, (void)output_dims;
    return 0;
}

arm_cmsis_nn_status arm_convolve_s16(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *conv_params,
                                     const cmsis_nn_per_channel_quant_params *quant_params,
                                     const cmsis_nn_dims *input_dims, const int16_t *input_data,
                                     const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                     const cmsis_nn_dims *bias_dims, const int64_t *bias_data,
                                     const cmsis_nn_dims *output_dims, int16_t *output_data)
{
    (void)ctx, (void)bias_dims;
    const window v = {conv_params->stride, conv_params->padding, conv_params->dilation, input_dims,
                      filter_dims,         0,                    filter_dims->c,        filter_dims->c};
    const int32_t size = filter_dims->h * filter_dims->w * filter_dims->c;
    for (int32_t y = 0; y < output_dims->h; y++)
    {
        for (int32_t x = 0; x < output_dims->w; x++)
        {
            for (int32_t c = 0; c < output_dims->c; c++)
            {
                const int64_t sum = bias_data[c] + product(&v, input_data, filter_data + c * size, y, x);
                *output_data++ = clamped(wide(sum, quant_params->multiplier[c], quant_params->shift[c]),
                                         &conv_params->activation);
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_convolve_wrapper_s16(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *conv_params,
                                             const cmsis_nn_per_channel_quant_params *quant_params,
                                             const cmsis_nn_dims *input_dims, const int16_t *input_data,
                                             const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                             const cmsis_nn_dims *bias_dims, const int64_t *bias_data,
                                             const cmsis_nn_dims *output_dims, int16_t *output_data)
{
    return arm_convolve_s16(ctx, conv_params, quant_params, input_dims, input_data, filter_dims, filter_data, bias_dims,
                            bias_data, output_dims, output_data);
}

int32_t arm_depthwise_conv_wrapper_s16_get_buffer_size(const cmsis_nn_dw_conv_params *dw_conv_params,
                                                       const cmsis_nn_dims *input_dims,
                                                       const cmsis_nn_dims *filter_dims,
                                                       const cmsis_nn_dims *output_dims)
{
    (void)dw_conv_params, (void)input_dims, (void)filter_dims, (void)output_dims;
    return 0;
}

arm_cmsis_nn_status arm_depthwise_conv_s16(const cmsis_nn_context *ctx, const cmsis_nn_dw_conv_params *dw_conv_params,
                                           const cmsis_nn_per_channel_quant_params *quant_params,
                                           const cmsis_nn_dims *input_dims, const int16_t *input,
                                           const cmsis_nn_dims *filter_dims, const int8_t *kernel,
                                           const cmsis_nn_dims *bias_dims, const int64_t *bias,
                                           const cmsis_nn_dims *output_dims, int16_t *output)
{
    (void)ctx, (void)bias_dims;
    for (int32_t y = 0; y < output_dims->h; y++)
    {
        for (int32_t x = 0; x < output_dims->w; x++)
        {
            for (int32_t c = 0; c < output_dims->c; c++)
            {
                const window v = {dw_conv_params->stride,
                                  dw_conv_params->padding,
                                  dw_conv_params->dilation,
                                  input_dims,
                                  filter_dims,
                                  c / dw_conv_params->ch_mult,
                                  1,
                                  output_dims->c};
                const int64_t sum = bias[c] + product(&v, input, kernel + c, y, x);
                *output++ = clamped(wide(sum, quant_params->multiplier[c], quant_params->shift[c]),
                                    &dw_conv_params->activation);
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s16(const cmsis_nn_context *ctx,
                                                   const cmsis_nn_dw_conv_params *dw_conv_params,
                                                   const cmsis_nn_per_channel_quant_params *quant_params,
                                                   const cmsis_nn_dims *input_dims, const int16_t *input,
                                                   const cmsis_nn_dims *filter_dims, const int8_t *filter,
                                                   const cmsis_nn_dims *bias_dims, const int64_t *bias,
                                                   const cmsis_nn_dims *output_dims, int16_t *output)
{
    return arm_depthwise_conv_s16(ctx, dw_conv_params, quant_params, input_dims, input, filter_dims, filter, bias_dims,
                                  bias, output_dims, output);
}

int32_t arm_fully_connected_s16_get_buffer_size(const cmsis_nn_dims *filter_dims)
{
    (void)filter_dims;
    return 0;
}

arm_cmsis_nn_status arm_fully_connected_s16(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
                                            const cmsis_nn_per_tensor_quant_params *quant_params,
                                            const cmsis_nn_dims *input_dims, const int16_t *input,
                                            const cmsis_nn_dims *filter_dims, const int8_t *kernel,
                                            const cmsis_nn_dims *bias_dims, const int64_t *bias,
                                            const cmsis_nn_dims *output_dims, int16_t *output)
{
    (void)ctx, (void)bias_dims;
    for (int32_t row = 0; row < input_dims->n; row++, input += filter_dims->n)
    {
        for (int32_t c = 0; c < output_dims->c; c++)
        {
            int64_t sum = bias[c];
            for (int32_t k = 0; k < filter_dims->n; k++)
            {
                sum += (int64_t)input[k] * kernel[c * filter_dims->n + k];
            }
            *output++ = clamped(wide(sum, quant_params->multiplier, quant_params->shift), &fc_params->activation);
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}

static void pool(const cmsis_nn_pool_params *params, const cmsis_nn_dims *in, const int16_t *input,
                 const cmsis_nn_dims *filter, const cmsis_nn_dims *out, int16_t *output, int32_t average)
{
    for (int32_t i = 0; i < out->h * out->w * out->c; i++)
    {
        const int32_t c = i % out->c, x = i / out->c % out->w, y = i / out->c / out->w;
        int32_t sum = 0, count = 0, largest = INT16_MIN;
        for (int32_t k = 0; k < filter->h * filter->w; k++)
        {
            const int32_t row = y * params->stride.h - params->padding.h + k / filter->w;
            const int32_t column = x * params->stride.w - params->padding.w + k % filter->w;
            if (row >= 0 && row < in->h && column >= 0 && column < in->w)
            {
                const int16_t value = input[(row * in->w + column) * in->c + c];
                sum += value;
                largest = value > largest ? value : largest;
                count++;
            }
        }
        const int32_t mean = sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
        output[i] = clamped(average ? mean : largest, &params->activation);
    }
}

int32_t arm_avgpool_s16_get_buffer_size(const int dim_dst_width, const int ch_src)
{
    (void)dim_dst_width, (void)ch_src;
    return 0;
}

arm_cmsis_nn_status arm_avgpool_s16(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,
                                    const cmsis_nn_dims *input_dims, const int16_t *src,
                                    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims, int16_t *dst)
{
    (void)ctx;
    pool(pool_params, input_dims, src, filter_dims, output_dims, dst, 1);
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_max_pool_s16(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,
                                     const cmsis_nn_dims *input_dims, const int16_t *src,
                                     const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims, int16_t *dst)
{
    (void)ctx;
    pool(pool_params, input_dims, src, filter_dims, output_dims, dst, 0);
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_elementwise_add_s16(const int16_t *input_1_vect, const int16_t *input_2_vect,
                                            const int32_t input_1_offset, const int32_t input_1_mult,
                                            const int32_t input_1_shift, const int32_t input_2_offset,
                                            const int32_t input_2_mult, const int32_t input_2_shift,
                                            const int32_t left_shift, int16_t *output, const int32_t out_offset,
                                            const int32_t out_mult, const int32_t out_shift,
                                            const int32_t out_activation_min, const int32_t out_activation_max,
                                            const int32_t block_size)
{
    (void)input_1_offset, (void)input_2_offset, (void)out_offset;
    const cmsis_nn_activation limits = {out_activation_min, out_activation_max};
    for (int32_t i = 0; i < block_size; i++)
    {
        const int32_t one = narrow(input_1_vect[i] * (1 << left_shift), input_1_mult, input_1_shift);
        const int32_t other = narrow(input_2_vect[i] * (1 << left_shift), input_2_mult, input_2_shift);
        output[i] = clamped(narrow(one + other, out_mult, out_shift), &limits);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_elementwise_mul_s16(const int16_t *input_1_vect, const int16_t *input_2_vect,
                                            const int32_t input_1_offset, const int32_t input_2_offset, int16_t *output,
                                            const int32_t out_offset, const int32_t out_mult, const int32_t out_shift,
                                            const int32_t out_activation_min, const int32_t out_activation_max,
                                            const int32_t block_size)
{
    (void)input_1_offset, (void)input_2_offset, (void)out_offset;
    const cmsis_nn_activation limits = {out_activation_min, out_activation_max};
    for (int32_t i = 0; i < block_size; i++)
    {
        output[i] = clamped(narrow(input_1_vect[i] * input_2_vect[i], out_mult, out_shift), &limits);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

/* A curve at a place between -32768 and 32767, by its 513 samples and straight lines between them. */
static int32_t looked_up(const int16_t *samples, int32_t place)
{
    const int16_t *from = samples + 256 + (place >> 7);
    return from[0] + (((from[1] - from[0]) * (place & 127) + 64) >> 7);
}

arm_cmsis_nn_status arm_softmax_s16(const int16_t *input, const int32_t num_rows, const int32_t row_size,
                                    const int32_t mult, const int32_t shift,
                                    const cmsis_nn_softmax_lut_s16 *softmax_params, int16_t *output)
{
    for (int32_t row = 0; row < num_rows; row++, input += row_size, output += row_size)
    {
        int32_t largest = input[0], sum = 0;
        for (int32_t c = 1; c < row_size; c++)
        {
            largest = input[c] > largest ? input[c] : largest;
        }
        for (int32_t c = 0; c < row_size; c++)
        {
            const int32_t place = INT16_MAX + arm_nn_requantize(input[c] - largest, mult, shift);
            output[c] = (int16_t)looked_up(softmax_params->exp_lut, place < INT16_MIN ? INT16_MIN : place);
            sum += output[c];
        }
        const int32_t headroom = __builtin_clz((uint32_t)sum);
        const int64_t doubled = (int64_t)sum << (headroom - 1);
        const int32_t place = (int32_t)((doubled + (1 << 13)) >> 14) - 98304; /* the sum from 1 to 2 */
        const int32_t inverse = looked_up(softmax_params->one_by_one_lut, place > INT16_MAX ? INT16_MAX : place);
        for (int32_t c = 0; c < row_size; c++)
        {
            output[c] = (int16_t)((((output[c] * inverse) >> (30 - headroom)) + 1) >> 1);
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
