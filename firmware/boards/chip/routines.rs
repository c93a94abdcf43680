//! The compiler's helpers for memory and division, a byte and a bit at a time: those that come with
//! the compiler are fast and take a tenth of the flash that an image may have.
//!
//! None of them uses the stack. The linker takes these, because the others are weak.

core::arch::global_asm!(
    ".thumb",
    ".syntax unified",
    // Destination, source, length; from the end, so that the length alone counts.
    ".section .text.giveover_copy,\"ax\",%progbits",
    ".global memcpy, __aeabi_memcpy, __aeabi_memcpy4, __aeabi_memcpy8",
    ".type memcpy, %function",
    ".type __aeabi_memcpy, %function",
    ".type __aeabi_memcpy4, %function",
    ".type __aeabi_memcpy8, %function",
    ".p2align 1",
    "memcpy:",
    "__aeabi_memcpy:",
    "__aeabi_memcpy4:",
    "__aeabi_memcpy8:",
    "1: subs r2, #1",
    "bcc 2f",
    "ldrb r3, [r1, r2]",
    "strb r3, [r0, r2]",
    "b 1b",
    "2: bx lr",
    ".size memcpy, . - memcpy",
    // Destination, length, and the byte to fill it with.
    ".section .text.giveover_fill,\"ax\",%progbits",
    ".global __aeabi_memclr, __aeabi_memclr4, __aeabi_memclr8",
    ".global __aeabi_memset, __aeabi_memset4, __aeabi_memset8",
    ".type __aeabi_memclr, %function",
    ".type __aeabi_memclr4, %function",
    ".type __aeabi_memclr8, %function",
    ".type __aeabi_memset, %function",
    ".type __aeabi_memset4, %function",
    ".type __aeabi_memset8, %function",
    ".p2align 1",
    "__aeabi_memclr:",
    "__aeabi_memclr4:",
    "__aeabi_memclr8:",
    "movs r2, #0",
    "__aeabi_memset:",
    "__aeabi_memset4:",
    "__aeabi_memset8:",
    "1: subs r1, #1",
    "bcc 2f",
    "strb r2, [r0, r1]",
    "b 1b",
    "2: bx lr",
    ".size __aeabi_memclr, . - __aeabi_memclr",
);

// Dividend and divisor in, quotient and rest out; a Cortex-M3 has an instruction for it. What is
// shifted out on top belongs to the rest, which is then larger than any divisor.
#[cfg(not(feature = "lm3s6965evb"))]
core::arch::global_asm!(
    ".section .text.giveover_divide,\"ax\",%progbits",
    ".global __aeabi_uidiv, __aeabi_uidivmod",
    ".type __aeabi_uidiv, %function",
    ".type __aeabi_uidivmod, %function",
    ".p2align 1",
    "__aeabi_uidiv:",
    "__aeabi_uidivmod:",
    "movs r2, #0",
    "movs r3, #32",
    "1: adds r0, r0, r0",
    "adcs r2, r2",
    "bcs 2f",
    "cmp r2, r1",
    "bcc 3f",
    "2: subs r2, r2, r1",
    "adds r0, #1",
    "3: subs r3, #1",
    "bne 1b",
    "mov r1, r2",
    "bx lr",
    ".size __aeabi_uidiv, . - __aeabi_uidiv",
);
