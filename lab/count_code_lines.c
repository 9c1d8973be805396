// A plugin for QEMU (plugin API 1): writes, at each pass of `mark`, how many lines of code were fetched since the last
// one through each of several caches that replace what was used longest ago, and how many instructions ran.
// `mark` is an address in hexadecimal, `line` bytes of a line, `sizes` bytes of the caches with colons between them.
// The declarations are those of QEMU's qemu-plugin.h.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t plugin_id;
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*callback)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, void (*callback)(unsigned, void *), int flags,
                                          void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*callback)(plugin_id, void *), void *data);

#define MOST_LINES 4096
#define MOST_CACHES 16
typedef struct {
    uint64_t held[MOST_LINES]; // the first was used last
    size_t lines, taken;
    uint64_t fetched, before;
} cache;
typedef struct {
    uint64_t first, last, instructions;
    int marks;
} block_lines;

int qemu_plugin_version = 1;
static uint64_t line = 32, mark, ran, ran_before;
static cache caches[MOST_CACHES];
static int count;
static FILE *out;

static void touch(cache *c, uint64_t which)
{
    size_t place = 0;
    while (place < c->taken && c->held[place] != which)
        place++;
    if (place == c->taken) {
        c->fetched++;
        if (c->taken < c->lines)
            c->taken++;
        else
            place--;
    }
    memmove(c->held + 1, c->held, place * sizeof *c->held);
    c->held[0] = which;
}

static void executed(unsigned cpu, void *data)
{
    const block_lines *block = data;
    (void)cpu;
    if (block->marks) {
        fprintf(out, "%llu", (unsigned long long)(ran - ran_before));
        for (int i = 0; i < count; i++) {
            fprintf(out, " %llu", (unsigned long long)(caches[i].fetched - caches[i].before));
            caches[i].before = caches[i].fetched;
        }
        fputc('\n', out);
        ran_before = ran;
    }
    ran += block->instructions;
    for (uint64_t which = block->first; which <= block->last; which++)
        for (int i = 0; i < count; i++)
            touch(&caches[i], which);
}

static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
    const size_t instructions = qemu_plugin_tb_n_insns(block);
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(block, instructions - 1);
    block_lines *kept = malloc(sizeof *kept); // as long as the emulator runs
    (void)id;
    kept->marks = qemu_plugin_tb_vaddr(block) == mark;
    kept->instructions = instructions;
    kept->first = qemu_plugin_tb_vaddr(block) / line;
    kept->last = (qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last) - 1) / line;
    qemu_plugin_register_vcpu_tb_exec_cb(block, executed, 0, kept);
}

static void ended(plugin_id id, void *data)
{
    (void)id, (void)data;
    fclose(out);
}

int qemu_plugin_install(plugin_id id, const void *info, int arguments, char **options)
{
    (void)info;
    for (int index = 0; index < arguments; index++) {
        char *value = strchr(options[index], '=') + 1;
        switch (options[index][0]) {
        case 'm': mark = strtoull(value, NULL, 16) & ~1ull; break;
        case 'l': line = strtoull(value, NULL, 10); break;
        case 's':
            for (char *size = strtok(value, ":"); size && count < MOST_CACHES; size = strtok(NULL, ":"))
                caches[count++].lines = strtoull(size, NULL, 10);
            break;
        default: out = fopen(value, "w");
        }
    }
    for (int i = 0; i < count; i++) {
        caches[i].lines /= line;
        if (caches[i].lines < 1 || caches[i].lines > MOST_LINES)
            return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return out && count ? 0 : 1;
}
