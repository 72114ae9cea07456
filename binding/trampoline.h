/* SPDX-License-Identifier: BSD-3-Clause
 * SPDX-FileCopyrightText: The h5bento developers
 *
 * A function that does nothing but jump to the address in a slot, with all arguments as they are: for the file that
 * cmake/H5bentoSymbols.cmake makes. */
#pragma once

#if defined(__x86_64__)
/* endbr64, where calls through pointers are checked */
#define BENTO_JUMP(slot) "  .byte 0xf3, 0x0f, 0x1e, 0xfa\n  jmp *" slot "(%rip)\n"
#elif defined(__aarch64__)
/* bti c, likewise; x16 is the register for such jumps */
#define BENTO_JUMP(slot) "  hint #34\n  adrp x16, " slot "\n  ldr x16, [x16, :lo12:" slot "]\n  br x16\n"
#else
#error "the plugin that links no HDF5 is not known on this processor"
#endif

/* Hidden: calls from within the module go straight here, and nobody else sees it. */
#define BENTO_TRAMPOLINE(name)                                                                   \
  void* h5bento_slot_##name __attribute__((visibility("hidden")));                               \
  __asm__(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name ":\n" \
          BENTO_JUMP("h5bento_slot_" #name) ".size " #name ", . - " #name "\n");
/* The address of a variable, for who asks for it by this name. */
#define BENTO_ADDRESS(name) void* name __attribute__((visibility("hidden")));
#define BENTO_VARIABLE(name) int64_t name __attribute__((visibility("hidden"))) = -1;
