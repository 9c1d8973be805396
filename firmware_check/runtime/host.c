#include "host.h"

/* CMSDK APB UART of the MPS2 and MPS3 boards; UART is its base address. */
#define DATA (*(volatile uint32_t *)(UART + 0x00))
#define STATE (*(volatile uint32_t *)(UART + 0x04))
#define CTRL (*(volatile uint32_t *)(UART + 0x08))
#define BAUDDIV (*(volatile uint32_t *)(UART + 0x10))
enum { TRANSMIT = 1, FULL = 1 };
enum { LEAST_DIVISOR = 16 };

#define AIRCR (*(volatile uint32_t *)0xe000ed0c)
#define RESET 0x05fa0004u /* VECTKEY, SYSRESETREQ */

static volatile uint32_t answered; /* the host sets it */

static void send(char character)
{
    while (STATE & FULL)
    {
    }
    DATA = (uint8_t)character;
}

void host_open(void)
{
    BAUDDIV = LEAST_DIVISOR;
    CTRL = TRANSMIT;
}

/* Names some bytes of the RAM, and waits until the host has copied them. */
static void ask(const char *kind, const void *data, uint32_t size)
{
    answered = 0;
    report_begin(kind);
    report_word((uint32_t)data);
    report_word(size);
    report_word((uint32_t)&answered);
    report_end();
    while (!answered)
    {
    }
}

void host_read(void *data, uint32_t size)
{
    ask("read", data, size);
}

void host_write(const void *data, uint32_t size)
{
    ask("write", data, size);
}

/* QEMU ends at a reset. */
void host_exit(void)
{
    while (STATE & FULL)
    {
    }
    AIRCR = RESET;
    for (;;)
    {
    }
}

void report_begin(const char *kind)
{
    while (*kind)
    {
        send(*kind++);
    }
}

void report_word(uint32_t value)
{
    send(' ');
    for (int shift = 28; shift >= 0; shift -= 4)
    {
        send("0123456789abcdef"[(value >> shift) & 15]);
    }
}

void report_end(void)
{
    send('\n');
}
