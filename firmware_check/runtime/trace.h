/* The tree of functions that ran in a layer; nothing in a build without TRACED. */
#ifndef TRACE_H
#define TRACE_H

#include <stdint.h>

#ifdef TRACED
void trace_clear(void);
void trace_start(uint32_t on);
void trace_stop(void);
void trace_report(uint32_t layer_index);
#else
#define trace_clear() ((void)0)
#define trace_start(on) ((void)(on))
#define trace_stop() ((void)0)
#define trace_report(layer_index) ((void)(layer_index))
#endif

#endif
