#include "reference.h"

#include <math.h>
#include <string.h>

static int32_t clamp(int64_t value, int32_t lowest, int32_t highest)
{
    return value < lowest ? lowest : value > highest ? highest : (int32_t)value;
}

/* value * multiplier / 2^31 * 2^shift, halves away from zero downwards as a single rounding right shift has them */
static int64_t scaled(int64_t value, int32_t multiplier, int32_t shift)
{
    const int32_t right = 31 - shift;
    if (right > 62)
    {
        return 0;
    }
    const int64_t product = value * multiplier;
    return right > 0 ? (product + ((int64_t)1 << (right - 1))) >> right : product * (1 << -right);
}

static int8_t rescaled(int64_t value, const plain_rescale *q)
{
    return (int8_t)clamp(scaled(value, q->multiplier, q->shift) + q->output_offset, q->lowest, q->highest);
}

static int8_t finished(int32_t sum, int32_t channel, const plain_quantization *q)
{
    return (int8_t)clamp(scaled(sum, q->multipliers[channel], q->shifts[channel]) + q->output_offset, q->lowest,
                         q->highest);
}

static int32_t place(const plain_dims *dims, int32_t n, int32_t h, int32_t w, int32_t c)
{
    return ((n * dims->h + h) * dims->w + w) * dims->c + c;
}

static int32_t inside(const plain_dims *dims, int32_t h, int32_t w)
{
    return h >= 0 && h < dims->h && w >= 0 && w < dims->w;
}

/* a layer without a bias has a null pointer in its place */
static int32_t bias_at(const int32_t *bias, int32_t channel)
{
    return bias ? bias[channel] : 0;
}

static int32_t convolve_one(const plain_window *v, const plain_quantization *q, const int8_t *input,
                            const int8_t *weights, int32_t n, int32_t h, int32_t w, int32_t channel)
{
    const int32_t first = channel / (v->filter.n / v->groups) * v->filter.c;
    int32_t sum = 0;
    for (int32_t i = 0; i < v->filter.h; i++)
    {
        for (int32_t j = 0; j < v->filter.w; j++)
        {
            const int32_t y = h * v->stride_h - v->pad_h + i * v->dilation_h;
            const int32_t x = w * v->stride_w - v->pad_w + j * v->dilation_w;
            for (int32_t c = 0; inside(&v->input, y, x) && c < v->filter.c; c++)
            {
                sum += (input[place(&v->input, n, y, x, first + c)] + q->input_offset) *
                       weights[place(&v->filter, channel, i, j, c)];
            }
        }
    }
    return sum;
}

int32_t plain_convolve(const plain_window *v, const plain_quantization *q, const int8_t *input, const int8_t *weights,
                       const int32_t *bias, int8_t *output)
{
    for (int32_t n = 0; n < v->output.n; n++)
    {
        for (int32_t h = 0; h < v->output.h; h++)
        {
            for (int32_t w = 0; w < v->output.w; w++)
            {
                for (int32_t c = 0; c < v->output.c; c++)
                {
                    const int32_t sum = convolve_one(v, q, input, weights, n, h, w, c) + bias_at(bias, c);
                    *output++ = finished(sum, c, q);
                }
            }
        }
    }
    return 0;
}

static void scatter(const plain_window *v, const plain_quantization *q, const int8_t *pixel, const int8_t *weights,
                    int32_t n, int32_t h, int32_t w, int32_t *sums)
{
    for (int32_t i = 0; i < v->filter.h; i++)
    {
        for (int32_t j = 0; j < v->filter.w; j++)
        {
            const int32_t y = h * v->stride_h - v->pad_h + i;
            const int32_t x = w * v->stride_w - v->pad_w + j;
            for (int32_t c = 0; inside(&v->output, y, x) && c < v->output.c; c++)
            {
                for (int32_t k = 0; k < v->input.c; k++)
                {
                    sums[place(&v->output, n, y, x, c)] +=
                        (pixel[k] + q->input_offset) * weights[place(&v->filter, c, i, j, k)];
                }
            }
        }
    }
}

int32_t plain_transpose_conv(const plain_window *v, const plain_quantization *q, const int8_t *input,
                             const int8_t *weights, const int32_t *bias, int32_t *sums, int8_t *output)
{
    const int32_t count = v->output.n * v->output.h * v->output.w * v->output.c;
    memset(sums, 0, (uint32_t)count * sizeof *sums);
    for (int32_t n = 0; n < v->input.n; n++)
    {
        for (int32_t h = 0; h < v->input.h; h++)
        {
            for (int32_t w = 0; w < v->input.w; w++)
            {
                scatter(v, q, &input[place(&v->input, n, h, w, 0)], weights, n, h, w, sums);
            }
        }
    }
    for (int32_t i = 0; i < count; i++)
    {
        const int32_t c = i % v->output.c;
        output[i] = finished(sums[i] + bias_at(bias, c), c, q);
    }
    return 0;
}

int32_t plain_fully_connected(int32_t rows, int32_t depth, int32_t channels, int32_t per_channel,
                              const plain_quantization *q, const int8_t *input, const int8_t *weights,
                              const int32_t *bias, int8_t *output)
{
    for (int32_t row = 0; row < rows; row++)
    {
        for (int32_t c = 0; c < channels; c++)
        {
            int32_t sum = bias_at(bias, c);
            for (int32_t k = 0; k < depth; k++)
            {
                sum += (input[row * depth + k] + q->input_offset) * (weights[c * depth + k] + q->filter_offset);
            }
            *output++ = finished(sum, per_channel ? c : 0, q);
        }
    }
    return 0;
}

static int8_t pool_one(const plain_window *v, plain_pooling kind, const plain_rescale *q, const int8_t *input,
                       const plain_dims *at)
{
    int32_t sum = 0, count = 0, largest = INT8_MIN;
    for (int32_t i = 0; i < v->filter.h; i++)
    {
        for (int32_t j = 0; j < v->filter.w; j++)
        {
            const int32_t y = at->h * v->stride_h - v->pad_h + i;
            const int32_t x = at->w * v->stride_w - v->pad_w + j;
            if (inside(&v->input, y, x))
            {
                const int8_t value = input[place(&v->input, at->n, y, x, at->c)];
                sum += value + q->input_offset;
                largest = value > largest ? value : largest;
                count++;
            }
        }
    }
    if (kind == MAXIMUM)
    {
        return rescaled(largest + q->input_offset, q);
    }
    count = kind == AVERAGE_OF_WINDOW ? v->filter.h * v->filter.w : count;
    const float mean = (float)sum / (float)count * ldexpf((float)q->multiplier, q->shift - 31);
    return (int8_t)clamp((int32_t)lrintf(mean) + q->output_offset, q->lowest, q->highest);
}

int32_t plain_pool(const plain_window *v, plain_pooling kind, const plain_rescale *q, const int8_t *input, int8_t *output)
{
    plain_dims at;
    for (at.n = 0; at.n < v->output.n; at.n++)
    {
        for (at.h = 0; at.h < v->output.h; at.h++)
        {
            for (at.w = 0; at.w < v->output.w; at.w++)
            {
                for (at.c = 0; at.c < v->output.c; at.c++)
                {
                    *output++ = pool_one(v, kind, q, input, &at);
                }
            }
        }
    }
    return 0;
}

int32_t plain_requantize(const plain_rescale *q, uint32_t count, const int8_t *input, int8_t *output)
{
    for (uint32_t i = 0; i < count; i++)
    {
        output[i] = rescaled(input[i] + q->input_offset, q);
    }
    return 0;
}

int32_t plain_requantize_s16(const plain_rescale *q, uint32_t count, const int16_t *input, int16_t *output)
{
    for (uint32_t i = 0; i < count; i++)
    {
        output[i] = (int16_t)clamp(scaled(input[i], q->multiplier, q->shift), q->lowest, q->highest);
    }
    return 0;
}

int32_t plain_lookup(const int8_t *table, uint32_t count, const int8_t *input, int8_t *output)
{
    for (uint32_t i = 0; i < count; i++)
    {
        output[i] = table[(uint8_t)input[i]];
    }
    return 0;
}

int32_t plain_add(const plain_rescale *sum, const plain_operand *first, const plain_operand *second, uint32_t count,
                  const int8_t *one, const int8_t *other, int8_t *output)
{
    for (uint32_t i = 0; i < count; i++)
    {
        const float real = (float)(one[i] + first->offset) * first->scale +
                           (float)(other[i] + second->offset) * second->scale;
        output[i] = (int8_t)clamp(llrintf(real) + sum->output_offset, sum->lowest, sum->highest);
    }
    return 0;
}

int32_t plain_mul(const plain_rescale *product, int32_t other_offset, uint32_t count, const int8_t *one,
                  const int8_t *other, int8_t *output)
{
    for (uint32_t i = 0; i < count; i++)
    {
        output[i] = rescaled((one[i] + product->input_offset) * (other[i] + other_offset), product);
    }
    return 0;
}

int32_t plain_softmax(int32_t rows, int32_t size, float scale, float output_scale, int32_t output_offset,
                      const int8_t *input, int8_t *output)
{
    for (int32_t row = 0; row < rows; row++, input += size, output += size)
    {
        int8_t largest = INT8_MIN;
        float sum = 0;
        for (int32_t i = 0; i < size; i++)
        {
            largest = input[i] > largest ? input[i] : largest;
        }
        for (int32_t i = 0; i < size; i++)
        {
            sum += expf((float)(input[i] - largest) * scale);
        }
        for (int32_t i = 0; i < size; i++)
        {
            const float share = expf((float)(input[i] - largest) * scale) / sum;
            output[i] = (int8_t)clamp((int32_t)lrintf(share / output_scale) + output_offset, INT8_MIN, INT8_MAX);
        }
    }
    return 0;
}

int32_t plain_concat(int32_t outer, int32_t size, int32_t first, int32_t total, const plain_rescale *q,
                     const int8_t *input, int8_t *output)
{
    for (int32_t i = 0; i < outer; i++)
    {
        plain_requantize(q, (uint32_t)size, input + i * size, output + i * total + first);
    }
    return 0;
}

int32_t plain_pad(const plain_dims *input, const plain_dims *before, const plain_dims *after, int8_t fill,
                  const int8_t *source, int8_t *output)
{
    const plain_dims full = {before->n + input->n + after->n, before->h + input->h + after->h,
                             before->w + input->w + after->w, before->c + input->c + after->c};
    memset(output, fill, (uint32_t)(full.n * full.h * full.w * full.c));
    for (int32_t n = 0; n < input->n; n++)
    {
        for (int32_t h = 0; h < input->h; h++)
        {
            for (int32_t w = 0; w < input->w; w++)
            {
                memcpy(&output[place(&full, n + before->n, h + before->h, w + before->w, before->c)],
                       &source[place(input, n, h, w, 0)], (uint32_t)input->c);
            }
        }
    }
    return 0;
}

int32_t plain_move(int32_t axes, const int32_t *sizes, const int32_t *strides, const int8_t *input, int8_t *output)
{
    int32_t index[8] = {0}, count = 1, from = 0;
    for (int32_t axis = 0; axis < axes; axis++)
    {
        count *= sizes[axis];
    }
    for (int32_t i = 0; i < count; i++)
    {
        output[i] = input[from];
        int32_t axis = axes;
        while (axis-- > 0)
        {
            from += strides[axis];
            if (++index[axis] < sizes[axis])
            {
                break;
            }
            from -= strides[axis] * sizes[axis];
            index[axis] = 0;
        }
    }
    return 0;
}
