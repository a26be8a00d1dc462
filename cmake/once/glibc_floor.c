/* Two functions that the static C++ runtime takes from the C library when it was built against a
 * newer one than the floor that releases promise. Defined here, hidden, from older parts, a program
 * runs on the floor as well.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* For std::random_device. */
HIDDEN uint32_t arc4random(void) {
  uint32_t value = 0;
  ssize_t got;
  do {
    got = getrandom(&value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  if (got != (ssize_t)sizeof value) abort();
  return value;
}

#ifdef DLFO_EH_SEGMENT_TYPE
struct search {
  uintptr_t pc;
  struct dl_find_object* result;
};

static int look(struct dl_phdr_info* info, size_t size, void* data) {
  const struct search* search = data;
  int inside = 0;
  const ElfW(Phdr)* frames = NULL;
  uintptr_t first = UINTPTR_MAX, last = 0;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
    if (part->p_type == DLFO_EH_SEGMENT_TYPE) frames = part;
    if (part->p_type != PT_LOAD) continue;
    if (begin < first) first = begin;
    if (end > last) last = end;
    if (search->pc >= begin && search->pc < end) inside = 1;
  }
  if (!inside) return 0;
  if (frames == NULL) return -1;
  search->result->dlfo_flags = 0;
  search->result->dlfo_map_start = (void*)first;
  search->result->dlfo_map_end = (void*)last;
  search->result->dlfo_link_map = NULL; /* the unwinder does not ask for it */
  search->result->dlfo_eh_frame = (void*)(info->dlpi_addr + frames->p_vaddr);
  return 1;
}

/* For the unwinder: the unwind table of the object that holds `pc`; 0 when found. */
HIDDEN int _dl_find_object(void* pc, struct dl_find_object* result) {
  struct search search = {(uintptr_t)pc, result};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
#endif
