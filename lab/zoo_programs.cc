// Firmware of zoo_programs.py: loads and executes each program in the file `programs`, and prints what became of it.
// The file has a count, and of each program its bytes and those of its inputs, each behind its length, in steps of 16.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>
#include "newlib_start.h"
using namespace executorch::runtime;
alignas(16) static uint8_t file[1 << 20], methods[1 << 19], planned[1 << 19], temporary[1 << 17];
static const uint8_t* next = file;
struct Bytes {
  const uint8_t* data;
  uint32_t size;
};
static uint32_t number() {
  uint32_t value;
  memcpy(&value, next, sizeof value);
  next += 16;
  return value;
}
static Bytes bytes() {
  const uint32_t size = number();
  const uint8_t* data = next;
  next += (size + 15) & ~15u;
  return {data, size};
}
static const char* run(const Bytes& program_bytes, const Bytes* inputs, uint32_t count) {
  executorch::extension::BufferDataLoader loader(program_bytes.data, program_bytes.size);
  auto program = Program::load(&loader);
  if (!program.ok()) return "load";
  auto meta = program->method_meta("forward");
  if (!meta.ok()) return "meta";
  Span<uint8_t> spans[4];
  const size_t used = meta->num_memory_planned_buffers();
  uint8_t* room = planned;
  for (size_t at = 0; at < used && at < 4; ++at) {
    const size_t size = *meta->memory_planned_buffer_size(at);
    spans[at] = Span<uint8_t>(room, size);
    room += (size + 63) & ~size_t(63);
  }
  if (used > 4 || room > planned + sizeof planned) return "room";
  memset(planned, 0xA5, sizeof planned);
  memset(temporary, 0x5A, sizeof temporary);
  HierarchicalAllocator plan({spans, used});
  MemoryAllocator method_memory(sizeof methods, methods), temporary_memory(sizeof temporary, temporary);
  MemoryManager manager(&method_memory, &plan, &temporary_memory);
  auto method = program->load_method("forward", &manager);
  if (!method.ok()) return "load_method";
  if (method->inputs_size() != count) return "inputs";
  for (uint32_t at = 0; at < count; ++at) {
    auto tensor = method->get_input(at).toTensor();
    if (tensor.nbytes() != inputs[at].size) return "inputs";
    memcpy(tensor.mutable_data_ptr(), inputs[at].data, inputs[at].size);
  }
  if (method->execute() != Error::Ok) return "execute";
  auto result = method->get_output(0).toTensor();
  const uint8_t* data = static_cast<const uint8_t*>(result.const_data_ptr());
  printf("order ");
  for (ssize_t at = 0; at < result.dim(); ++at) printf("%d", int(result.dim_order()[at]));
  printf("\nvalues ");
  for (size_t at = 0; at < result.nbytes(); ++at) printf("%02x", data[at]);
  printf("\n");
  return "runs";
}
int main() {
  runtime_init();
  FILE* programs = fopen("programs", "rb");
  if (!programs || !fread(file, 1, sizeof file, programs)) return 1;
  const uint32_t count = number();
  for (uint32_t at = 0; at < count; ++at) {
    const Bytes program = bytes();
    Bytes inputs[8] = {};
    const uint32_t given = number();
    for (uint32_t index = 0; index < given; ++index) inputs[index & 7] = bytes();
    printf("program %u\n", unsigned(at));
    fflush(stdout);
    printf("ended %s\n", run(program, inputs, given));
    fflush(stdout);
  }
  exit(0);
}
