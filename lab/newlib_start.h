// How a C++ program of this folder starts on a board: what newlib needs, then main; its files and its output are the
// host's (semihosting). measure_tflm_reference.py links it.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
int main();
extern "C" {
void* __dso_handle;
extern uint32_t data_start, data_end, data_load, bss_start, bss_end, stack_top;
extern void (*first_constructor[])(), (*last_constructor[])();
void initialise_monitor_handles();
void _init() {}
void _fini() {}
void Fault() { _Exit(3); }
void Reset() {
  *reinterpret_cast<volatile uint32_t*>(0xE000ED88) |= 0xF00000;  // the unit for floats
  __asm volatile("dsb\nisb");
  memcpy(&data_start, &data_load, (char*)&data_end - (char*)&data_start);
  memset(&bss_start, 0, (char*)&bss_end - (char*)&bss_start);
  initialise_monitor_handles();
  for (auto make = first_constructor; make < last_constructor; ++make) (*make)();
  exit(main());
}
}
__attribute__((section(".vectors"), used)) const void* vectors[] = {
    &stack_top, (void*)Reset, (void*)Fault, (void*)Fault, (void*)Fault, (void*)Fault, (void*)Fault};
