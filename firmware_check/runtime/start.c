/* Reset, vectors and faults for an Armv6-M, v7-M or v8-M core. */
#include <stdint.h>

extern uint32_t __data_load[], __data_start[], __data_end[], __bss_start[], __bss_end[], __stack_top[];

int main(void);
void systick_handler(void);

__attribute__((naked, used)) static void fault_entry(void)
{
    __asm__("mrs r0, msp\n"
            "ldr r1, =fault\n"
            "bx r1\n");
}

__attribute__((noreturn, used)) static void start(void)
{
#if !defined(__ARM_ARCH_6M__)
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; /* CPACR: floating point and MVE on, where there are any */
    __asm__ volatile("dsb\nisb");
#endif
    for (uint32_t *to = __data_start, *from = __data_load; to < __data_end;)
    {
        *to++ = *from++;
    }
    for (uint32_t *to = __bss_start; to < __bss_end;)
    {
        *to++ = 0;
    }
    main();
    for (;;)
    {
    }
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    __stack_top, start,       fault_entry, fault_entry, fault_entry, fault_entry, fault_entry, fault_entry,
    0,           0,           0,           fault_entry, fault_entry, 0,           fault_entry, systick_handler,
};
