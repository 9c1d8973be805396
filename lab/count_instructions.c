// A plugin for QEMU (plugin API 1): writes the instructions between passes of `mark`, without those from `begin` to `end`.
// All three are addresses, in hexadecimal. The declarations are those of QEMU's qemu-plugin.h.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
typedef uint64_t plugin_id;
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*callback)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation, void *target, uint64_t add);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, void (*callback)(unsigned, void *), int flags,
                                          void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*callback)(plugin_id, void *), void *data);

int qemu_plugin_version = 1;
static uint64_t total, before, mark, begin, end;
static FILE *out;

static void marked(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    fprintf(out, "%llu\n", (unsigned long long)(total - before));
    before = total;
}

static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
    uint64_t address = qemu_plugin_tb_vaddr(block);
    (void)id;
    if (address == mark)
        qemu_plugin_register_vcpu_tb_exec_cb(block, marked, 0, NULL);
    else if (address < begin || address >= end)
        qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &total, qemu_plugin_tb_n_insns(block));
}

static void ended(plugin_id id, void *data)
{
    (void)id, (void)data;
    fclose(out);
}

int qemu_plugin_install(plugin_id id, const void *info, int count, char **options)
{
    (void)info;
    for (int index = 0; index < count; index++) {
        char *value = strchr(options[index], '=') + 1;
        switch (options[index][0]) {
        case 'm': mark = strtoull(value, NULL, 16) & ~1ull; break;
        case 'b': begin = strtoull(value, NULL, 16); break;
        case 'e': end = strtoull(value, NULL, 16); break;
        default: out = fopen(value, "w");
        }
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return out ? 0 : 1;
}
