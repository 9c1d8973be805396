/* The way to the host. Text goes through a UART that QEMU writes to a pipe. Bytes lie in the board's RAM, which a file of
   the host holds: the firmware says where, the host copies. No call of the emulator can touch anything else. */
#ifndef HOST_H
#define HOST_H

#include <stdint.h>

void host_open(void);
void host_read(void *data, uint32_t size);
void host_write(const void *data, uint32_t size);
void host_exit(void) __attribute__((noreturn));

/* The report: one line of hexadecimal words, begun by its kind. */
void report_begin(const char *kind);
void report_word(uint32_t value);
void report_end(void);

#endif
