/* Files on the host through semihosting, and the end of the program. */
#ifndef SEMIHOST_H
#define SEMIHOST_H

#include <stdint.h>

enum { OPEN_READ = 1, OPEN_WRITE = 5 }; /* fopen's "rb" and "wb" */

int32_t host_open(const char *name, int32_t mode);
void host_read(int32_t file, void *data, uint32_t size);
void host_write(int32_t file, const void *data, uint32_t size);
void host_exit(void) __attribute__((noreturn));

/* The report: one line of hexadecimal words, begun by its kind. */
void report_open(void);
void report_begin(const char *kind);
void report_word(uint32_t value);
void report_end(void);

#endif
