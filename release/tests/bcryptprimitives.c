/* A library that Rust programs need on Windows. Wine has it since version 8.4 only, and Debian 12 has Wine 8.0. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
    return SystemFunction036(bytes, count);
}
