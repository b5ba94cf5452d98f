#include <stddef.h>
#include <stdint.h>

/* libFuzzer's driver, and what AddressSanitizer's allocator holds. Neither is in a header of the toolchain. */
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
size_t __sanitizer_get_current_allocated_bytes(void);
