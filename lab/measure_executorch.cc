// Firmware of measure_executorch.py: runs the calls in the file `calls`, and passes `mark` around each.
// A line of it: operator, types of input and output, rank, sizes, orders of memory of both, and the new order of axes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <executorch/runtime/kernel/kernel_includes.h>
#include "newlib_start.h"
using namespace executorch::aten;
using executorch::runtime::KernelRuntimeContext;
using Orders = executorch::aten::OptionalArrayRef<int64_t>;
namespace torch::executor::native {
Tensor& _clone_dim_order_out(KernelRuntimeContext&, const Tensor&, bool, Orders, Tensor&);
Tensor& _to_dim_order_copy_out(KernelRuntimeContext&, const Tensor&, bool, Orders, Tensor&);
Tensor& permute_copy_out(KernelRuntimeContext&, const Tensor&, IntArrayRef, Tensor&);
Tensor& transpose_copy_int_out(KernelRuntimeContext&, const Tensor&, int64_t, int64_t, Tensor&);
Tensor& clone_out(KernelRuntimeContext&, const Tensor&, std::optional<MemoryFormat>, Tensor&);
}
namespace cortex_m::native {
Tensor& quantize_per_tensor_out(KernelRuntimeContext&, const Tensor&, double, int64_t, int64_t, int64_t, ScalarType,
                                Tensor&);
Tensor& dequantize_per_tensor_out(KernelRuntimeContext&, const Tensor&, double, int64_t, int64_t, int64_t, ScalarType,
                                  Tensor&);
Tensor& quantized_activation_out(KernelRuntimeContext&, const Tensor&, const Tensor&, Tensor&);
}
using namespace torch::executor::native;
using namespace cortex_m::native;
alignas(16) static uint8_t data[2][1 << 19], table[256];
extern "C" __attribute__((noinline)) void mark() { __asm volatile(""); }
template <typename Call> static void measured(Call call) { mark(); call(); mark(); }
struct Made {
  int32_t sizes[8], strides[8];
  uint8_t order[8];
  void stride(int rank) {
    int32_t step = 1;
    for (int at = rank; at-- > 0;) strides[order[at]] = step, step *= sizes[order[at]];
  }
};
static ScalarType type_of(const char* name) {
  return !strcmp(name, "int8") ? ScalarType::Char : !strcmp(name, "int16") ? ScalarType::Short
       : !strcmp(name, "int32") ? ScalarType::Int : ScalarType::Float;
}
int main() {
  FILE* calls = fopen("calls", "r");
  char op[40], types[2][16];
  int rank, number = 0;
  while (fscanf(calls, "%39s %15s %15s %d", op, types[0], types[1], &rank) == 4) {
    static Made made[2];
    int64_t moves[8], order[8];
    int value, elements = 1;
    for (int at = 0; at < rank; ++at) fscanf(calls, "%d", &value), made[0].sizes[at] = value, elements *= value;
    for (int side = 0; side < 2; ++side)
      for (int at = 0; at < rank; ++at) fscanf(calls, "%d", &value), made[side].order[at] = value;
    for (int at = 0; at < rank; ++at) fscanf(calls, "%d", &value), moves[at] = value;
    for (int at = 0; at < rank; ++at) made[1].sizes[at] = made[0].sizes[moves[at]], order[at] = made[1].order[at];
    made[0].stride(rank); made[1].stride(rank);
    int32_t ones[1] = {256}, one[1] = {1}; uint8_t flat[1] = {0};
    TensorImpl in(type_of(types[0]), rank, made[0].sizes, data[0], made[0].order, made[0].strides);
    TensorImpl out(type_of(types[1]), rank, made[1].sizes, data[1], made[1].order, made[1].strides);
    TensorImpl lut(ScalarType::Char, 1, ones, table, flat, one);
    Tensor from(&in), to(&out), looked(&lut);
    KernelRuntimeContext context{};
    TensorImpl& integers = in.scalar_type() == ScalarType::Float ? out : in;
    const int64_t high = integers.element_size() == 1 ? 127 : 32767, low = -high - 1;
    int first = 0, second = 1;
    for (int at = 0, seen = 0; at < rank; ++at) if (moves[at] != at) { if (!seen++) first = at; second = at; }
    for (int pattern = 0; pattern < PATTERNS; ++pattern) {
      uint32_t random = 12345;
      for (int at = 0; at < elements; ++at) {
        random = random * 1664525u + 1013904223u;
        float real = pattern == 0 ? (int32_t)random / 4.e8f : pattern == 1 ? 0 : pattern == 2 ? 3.f : -1.e6f;
        if (in.scalar_type() == ScalarType::Float) memcpy(data[0] + 4 * at, &real, 4);
        else memset(data[0] + at * in.element_size(), pattern == 0 ? random >> 24 : pattern, in.element_size());
      }
      if (!strcmp(op, "_clone_dim_order"))
        measured([&] { _clone_dim_order_out(context, from, false, Orders({order, (size_t)rank}), to); });
      else if (!strcmp(op, "_to_dim_order_copy"))
        measured([&] { _to_dim_order_copy_out(context, from, false, Orders({order, (size_t)rank}), to); });
      else if (!strcmp(op, "permute_copy"))
        measured([&] { permute_copy_out(context, from, IntArrayRef(moves, rank), to); });
      else if (!strcmp(op, "transpose_copy"))
        measured([&] { transpose_copy_int_out(context, from, first, second, to); });
      else if (!strcmp(op, "clone"))
        measured([&] { clone_out(context, from, std::nullopt, to); });
      else if (!strcmp(op, "quantize_per_tensor"))
        measured([&] { quantize_per_tensor_out(context, from, 0.05, 3, low, high, integers.scalar_type(), to); });
      else if (!strcmp(op, "dequantize_per_tensor"))
        measured([&] { dequantize_per_tensor_out(context, from, 0.05, 3, low, high, integers.scalar_type(), to); });
      else
        measured([&] { quantized_activation_out(context, from, looked, to); });
      printf("%d %d\n", number, (int)context.failure_state());
    }
    ++number;
    fflush(stdout);
  }
  return 0;
}
extern "C" {
void et_pal_init() {}
[[noreturn]] void et_pal_abort() { _Exit(4); }
et_timestamp_t et_pal_current_ticks() { return 0; }
void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char*,
                             size_t) {}
et_tick_ratio_t et_pal_ticks_to_ns_multiplier() { return {1, 1}; }
void* et_pal_allocate(size_t) { return nullptr; }
void et_pal_free(void*) {}
}
