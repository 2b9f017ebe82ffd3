//! The common entry of all MPI calls of the program, with the number of the function in a register.
//!
//! If [`super::DIRECT`] contains a function for that number, the code jumps to it with unchanged arguments. Otherwise it
//! stores the arguments in memory and passes them to [`super::dispatch`] with the return address of the call. Rust has no
//! access to the return address, hence assembly.

use std::arch::naked_asm;

use super::{DIRECT, dispatch};

/// Arguments that come in registers.
#[cfg(target_arch = "x86_64")]
pub const IN_REGISTERS: usize = 6;
/// Arguments that come in registers.
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
pub const IN_REGISTERS: usize = 8;

/// System V's calling convention: six registers, further arguments above the return address.
///
/// # Safety
/// Must be jumped to from the first instruction of a function, with the number of an entry in `eax`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn enter() {
    naked_asm!(
        ".cfi_startproc",
        "lea r11, [rip + {direct}]",
        "mov r11, [r11 + 8 * rax]",
        "test r11, r11",
        "jz 2f",
        "jmp r11",
        "2:",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 48",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov edi, eax",
        "mov rsi, rsp",
        "lea rdx, [rbp + 16]",
        "mov rcx, [rbp + 8]",
        "call {dispatch}",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        dispatch = sym dispatch,
        direct = sym DIRECT,
    )
}

/// AAPCS64: eight registers, further arguments at the stack pointer.
///
/// # Safety
/// Must be jumped to from the first instruction of a function, with the number of an entry in `w9`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn enter() {
    naked_asm!(
        ".cfi_startproc",
        "adrp x16, {direct}",
        "add x16, x16, :lo12:{direct}",
        "ldr x16, [x16, x9, lsl #3]",
        "cbz x16, 2f",
        "br x16",
        "2:",
        "stp x29, x30, [sp, #-80]!",
        ".cfi_def_cfa_offset 80",
        ".cfi_offset x29, -80",
        ".cfi_offset x30, -72",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "mov w0, w9",
        "add x1, sp, #16",
        "add x2, sp, #80",
        "mov x3, x30",
        "bl {dispatch}",
        "ldp x29, x30, [sp], #80",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
        dispatch = sym dispatch,
        direct = sym DIRECT,
    )
}

/// The standard calling convention of RISC-V: eight registers, further arguments at the stack pointer.
///
/// # Safety
/// Must be jumped to from the first instruction of a function, with the number of an entry in `t1`.
#[cfg(target_arch = "riscv64")]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn enter() {
    naked_asm!(
        ".cfi_startproc",
        "la t2, {direct}",
        "slli t0, t1, 3",
        "add t2, t2, t0",
        "ld t2, 0(t2)",
        "beqz t2, 2f",
        "jr t2",
        "2:",
        "addi sp, sp, -80",
        ".cfi_def_cfa_offset 80",
        "sd ra, 72(sp)",
        ".cfi_offset ra, -8",
        "sd a0, 0(sp)",
        "sd a1, 8(sp)",
        "sd a2, 16(sp)",
        "sd a3, 24(sp)",
        "sd a4, 32(sp)",
        "sd a5, 40(sp)",
        "sd a6, 48(sp)",
        "sd a7, 56(sp)",
        "mv a0, t1",
        "mv a1, sp",
        "addi a2, sp, 80",
        "mv a3, ra",
        "call {dispatch}",
        "ld ra, 72(sp)",
        "addi sp, sp, 80",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
        dispatch = sym dispatch,
        direct = sym DIRECT,
    )
}
