// Firmware of measure_tflm_reference.py: runs the models named in the file `list` and passes `mark` around each call.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/micro_profiler_interface.h"
#include "tensorflow/lite/schema/schema_generated.h"
#include "newlib_start.h"
extern "C" __attribute__((noinline)) void mark() { __asm volatile(""); }
struct Marks : tflite::MicroProfilerInterface {
  uint32_t BeginEvent(const char*) override { mark(); return 0; }
  void EndEvent(uint32_t) override { mark(); }
};
alignas(16) static uint8_t arena[1 << 20], file[1 << 19];
// Data of an input: all of a pattern, so that the least and the most of code that looks at its data are seen.
static void fill(TfLiteTensor* tensor, int pattern, uint32_t& random) {
  static const float constants[] = {0.0f, 0.5f, -2.5f, 90.0f, -90.0f};
  for (size_t at = 0; at < tensor->bytes / (tensor->type == kTfLiteFloat32 ? 4 : 1); ++at) {
    random = random * 1664525u + 1013904223u;
    if (tensor->type == kTfLiteFloat32) {
      float value = ((random >> 8) % 8001) / 1000.0f - 4.0f;
      tensor->data.f[at] = pattern == 0 ? value : pattern == 1 ? value * 1000 : constants[pattern - 2];
    } else {
      tensor->data.uint8[at] = pattern == 0 ? random >> 24 : pattern == 1 ? 0 : 124 + pattern;
    }
  }
}
int main() {
  static tflite::MicroMutableOpResolver<72> operators;
  OPERATORS
  static Marks marks;
  char name[32];
  for (FILE* list = fopen("list", "r"); fscanf(list, "%31s", name) == 1; fflush(stdout)) {
    FILE* model = fopen(name, "rb");
    fread(file, 1, sizeof file, model); fclose(model);
    tflite::MicroInterpreter calls(tflite::GetModel(file), operators, arena, sizeof arena, nullptr, &marks);
    int failed = calls.AllocateTensors();
    int pattern = 0;
    for (; pattern < PATTERNS && !failed; ++pattern) {
      uint32_t random = 12345;
      for (size_t i = 0; i < calls.inputs_size(); ++i) fill(calls.input(i), pattern, random);
      failed |= calls.Invoke();
    }
    printf("%s %d\n", name, pattern);
  }
  return 0;
}
extern "C" {
void DebugLog(const char* format, va_list values) { vprintf(format, values); }
int DebugVsnprintf(char* to, size_t size, const char* format, va_list v) { return vsnprintf(to, size, format, v); }
}
namespace tflite { uint32_t ticks_per_second() { return 1; } uint32_t GetCurrentTimeTicks() { return 0; } }
