// Firmware of measure_tflm_reference.py: runs the models named in the file `list`, and prints counts of SysTick.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/micro_profiler_interface.h"
#include "tensorflow/lite/schema/schema_generated.h"
extern "C" { void* __dso_handle; }
static volatile uint32_t* const systick = reinterpret_cast<uint32_t*>(0xE000E010);
struct Timer : tflite::MicroProfilerInterface {
  uint32_t start = 0, sum = 0;
  uint32_t BeginEvent(const char*) override { start = systick[2]; return 0; }
  void EndEvent(uint32_t) override { sum += (start - systick[2]) & 0xFFFFFF; }
};
alignas(16) static uint8_t arena[1 << 20], file[1 << 19];
int main() {
  systick[1] = 0xFFFFFF; systick[2] = 0; systick[0] = 5;
  static tflite::MicroMutableOpResolver<6> operators;
  operators.AddMean(); operators.AddLogistic(); operators.AddConcatenation();
  operators.AddAdd(); operators.AddMul(); operators.AddTranspose();
  static Timer timer;
  char name[32];
  for (FILE* list = fopen("list", "r"); fscanf(list, "%31s", name) == 1; fflush(stdout)) {
    FILE* model = fopen(name, "rb");
    fread(file, 1, sizeof file, model); fclose(model);
    tflite::MicroInterpreter calls(tflite::GetModel(file), operators, arena, sizeof arena, nullptr, &timer);
    int failed = calls.AllocateTensors();
    for (int pattern = 0; pattern < PATTERNS; ++pattern) {
      timer.sum = 0;
      for (int turn = 0; turn < REPETITIONS && !failed; ++turn) {
        uint32_t random = 12345;
        for (size_t i = 0; i < calls.inputs_size(); ++i)
          for (size_t b = 0; b < calls.input(i)->bytes; ++b) {
            random = random * 1664525u + 1013904223u;
            calls.input(i)->data.uint8[b] = pattern == 0 ? random >> 24 : pattern == 1 ? 0 : 125 + pattern;
          }
        failed |= calls.Invoke();
      }
      printf("%s %lu %d\n", name, (unsigned long)timer.sum, failed);
    }
  }
  return 0;
}
extern "C" {
extern uint32_t data_start, data_end, data_load, bss_start, bss_end, stack_top;
extern void (*first_constructor[])(), (*last_constructor[])();
void initialise_monitor_handles();
void _init() {}
void _fini() {}
void Fault() { _Exit(3); }
void Reset() {
  *reinterpret_cast<volatile uint32_t*>(0xE000ED88) |= 0xF00000;
  __asm volatile("dsb\nisb");
  memcpy(&data_start, &data_load, (char*)&data_end - (char*)&data_start);
  memset(&bss_start, 0, (char*)&bss_end - (char*)&bss_start);
  for (auto make = first_constructor; make < last_constructor; ++make) (*make)();
  initialise_monitor_handles();
  exit(main());
}
void DebugLog(const char* format, va_list values) { vprintf(format, values); }
int DebugVsnprintf(char* to, size_t size, const char* format, va_list v) { return vsnprintf(to, size, format, v); }
}
namespace tflite { uint32_t ticks_per_second() { return 1; } uint32_t GetCurrentTimeTicks() { return 0; } }
__attribute__((section(".vectors"), used)) const void* vectors[] = {
    &stack_top, (void*)Reset, (void*)Fault, (void*)Fault, (void*)Fault, (void*)Fault, (void*)Fault};
