#include "semihost.h"

enum { SYS_OPEN = 0x01, SYS_WRITE = 0x05, SYS_READ = 0x06, SYS_EXIT = 0x18 };
enum { APPLICATION_EXIT = 0x20026 };

static int32_t report_file;
static char line[256];
static uint32_t used;

static int32_t call(int32_t operation, const void *arguments)
{
    register int32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static uint32_t length(const char *text)
{
    uint32_t count = 0;
    while (text[count])
    {
        count++;
    }
    return count;
}

int32_t host_open(const char *name, int32_t mode)
{
    const uint32_t arguments[3] = {(uint32_t)name, (uint32_t)mode, length(name)};
    return call(SYS_OPEN, arguments);
}

void host_read(int32_t file, void *data, uint32_t size)
{
    const uint32_t arguments[3] = {(uint32_t)file, (uint32_t)data, size};
    call(SYS_READ, arguments);
}

void host_write(int32_t file, const void *data, uint32_t size)
{
    const uint32_t arguments[3] = {(uint32_t)file, (uint32_t)data, size};
    call(SYS_WRITE, arguments);
}

void host_exit(void)
{
    for (;;)
    {
        call(SYS_EXIT, (const void *)APPLICATION_EXIT);
    }
}

void report_open(void)
{
    report_file = host_open("report.txt", OPEN_WRITE);
}

void report_begin(const char *kind)
{
    for (used = 0; kind[used]; used++)
    {
        line[used] = kind[used];
    }
}

void report_word(uint32_t value)
{
    line[used++] = ' ';
    for (int shift = 28; shift >= 0; shift -= 4)
    {
        line[used++] = "0123456789abcdef"[(value >> shift) & 15];
    }
}

void report_end(void)
{
    line[used++] = '\n';
    host_write(report_file, line, used);
}
