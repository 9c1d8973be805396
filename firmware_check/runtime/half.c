/* Conversions of halves by the names of Arm's run-time ABI, which clang calls on a CPU without them; libgcc has others. */
#include <stdint.h>

__attribute__((pcs("aapcs"))) float __gnu_h2f_ieee(uint16_t half);
__attribute__((pcs("aapcs"))) uint16_t __gnu_f2h_ieee(float number);

__attribute__((pcs("aapcs"))) float __aeabi_h2f(uint16_t half)
{
    return __gnu_h2f_ieee(half);
}

__attribute__((pcs("aapcs"))) uint16_t __aeabi_f2h(float number)
{
    return __gnu_f2h_ieee(number);
}
