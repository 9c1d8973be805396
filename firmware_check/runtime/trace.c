/* Two sources feed one tree. The linker's --wrap sends calls of public functions through the thunks in thunks.S, which
   know the result. The compiler's -finstrument-functions gives the address of every function entered, static ones too. */
#include "trace.h"
#include "host.h"

#ifdef TRACED

enum { MAX_NODES = 256, MAX_DEPTH = 64 };

typedef struct
{
    uint32_t function;
    uint32_t parent;
    uint32_t calls;
    int32_t last; /* r0 of the last return through a thunk */
    int32_t lowest;
    uint32_t returns; /* returns seen by a thunk: without them there is no result */
} node;

static node nodes[MAX_NODES]; /* nodes[0] is the layer itself */
static uint32_t node_count, current, lost;
static uint32_t path[MAX_DEPTH], path_length; /* nodes entered and not left */
static uint32_t return_stack[MAX_DEPTH], depth;
static volatile uint32_t tracing;

void trace_clear(void)
{
    node_count = 1;
    current = path_length = lost = 0;
}

void trace_start(uint32_t on)
{
    tracing = on;
}

void trace_stop(void)
{
    tracing = 0;
}

static void enter(uint32_t function)
{
    uint32_t i = 1;
    while (i < node_count && (nodes[i].function != function || nodes[i].parent != current))
    {
        i++;
    }
    if (i == MAX_NODES)
    {
        lost++;
        i--;
    }
    else if (i == node_count)
    {
        nodes[node_count++] = (node){function, current, 0, 0, 0, 0};
    }
    nodes[i].calls++;
    path[path_length++] = current;
    current = i;
}

static void leave(void)
{
    current = path[--path_length];
}

void trace_enter(uint32_t function, uint32_t link)
{
    return_stack[depth++] = link;
    if (tracing)
    {
        enter(function);
    }
}

uint32_t trace_leave(int32_t result)
{
    if (tracing)
    {
        node *one = &nodes[current];
        one->last = result;
        one->lowest = one->returns == 0 || result < one->lowest ? result : one->lowest;
        one->returns++;
        leave();
    }
    return return_stack[--depth];
}

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    if (tracing)
    {
        enter((uint32_t)function);
    }
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
    if (tracing)
    {
        leave();
    }
}

void trace_report(uint32_t layer_index)
{
    for (uint32_t i = 1; i < node_count; i++)
    {
        report_begin("call");
        report_word(layer_index);
        report_word(i);
        report_word(nodes[i].parent);
        report_word(nodes[i].function);
        report_word(nodes[i].calls);
        report_word(nodes[i].returns);
        report_word((uint32_t)nodes[i].last);
        report_word((uint32_t)nodes[i].lowest);
        report_end();
    }
    if (lost)
    {
        report_begin("lost");
        report_word(layer_index);
        report_word(lost);
        report_end();
    }
}

#endif
