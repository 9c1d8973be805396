/* Reference code for layers that CMSIS-NN has no function for: slow, and as simple as the operator's definition. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdint.h>

typedef struct
{
    int32_t n, h, w, c;
} plain_dims;

typedef struct
{
    plain_dims input, filter, output; /* filter of a convolution: n output channels, c input channels of one group */
    int32_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
} plain_window;

typedef struct
{
    int32_t input_offset, filter_offset, output_offset, lowest, highest;
    const int32_t *multipliers, *shifts; /* one for each output channel, or one */
} plain_quantization;

typedef struct
{
    int32_t input_offset, multiplier, shift, output_offset, lowest, highest;
} plain_rescale;

typedef struct
{
    int32_t offset;
    float scale; /* in units of the output's */
} plain_operand;

/* An average divides by the inputs in the window, or by all its places, padding among them. */
typedef enum
{
    MAXIMUM,
    AVERAGE,
    AVERAGE_OF_WINDOW
} plain_pooling;

int32_t plain_convolve(const plain_window *window, const plain_quantization *q, const int8_t *input,
                       const int8_t *weights, const int32_t *bias, int8_t *output);
int32_t plain_transpose_conv(const plain_window *window, const plain_quantization *q, const int8_t *input,
                             const int8_t *weights, const int32_t *bias, int32_t *sums, int8_t *output);
int32_t plain_fully_connected(int32_t rows, int32_t depth, int32_t channels, int32_t per_channel,
                              const plain_quantization *q, const int8_t *input, const int8_t *weights,
                              const int32_t *bias, int8_t *output);
int32_t plain_pool(const plain_window *window, plain_pooling kind, const plain_rescale *q, const int8_t *input,
                   int8_t *output);
int32_t plain_requantize(const plain_rescale *q, uint32_t count, const int8_t *input, int8_t *output);
int32_t plain_requantize_s16(const plain_rescale *q, uint32_t count, const int16_t *input, int16_t *output);
/* table[0] to table[127] for 0 to 127, then for -128 to -1 */
int32_t plain_lookup(const int8_t *table, uint32_t count, const int8_t *input, int8_t *output);
int32_t plain_add(const plain_rescale *sum, const plain_operand *first, const plain_operand *second, uint32_t count,
                  const int8_t *one, const int8_t *other, int8_t *output);
int32_t plain_mul(const plain_rescale *product, int32_t other_offset, uint32_t count, const int8_t *one,
                  const int8_t *other, int8_t *output);
int32_t plain_softmax(int32_t rows, int32_t size, float scale, float output_scale, int32_t output_offset,
                      const int8_t *input, int8_t *output);
int32_t plain_concat(int32_t outer, int32_t size, int32_t place, int32_t total, const plain_rescale *q,
                     const int8_t *input, int8_t *output);
int32_t plain_pad(const plain_dims *input, const plain_dims *before, const plain_dims *after, int8_t fill,
                  const int8_t *source, int8_t *output);
/* Loops from the outermost: how often each runs, and how many bytes of the input it goes on. */
int32_t plain_move(int32_t axes, const int32_t *sizes, const int32_t *strides, const int8_t *input, int8_t *output);

#endif
