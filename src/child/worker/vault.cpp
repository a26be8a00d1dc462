#include "worker/vault.hpp"

#include "base/error.hpp"

#include <cstring>
#include <new>
#include <sys/mman.h>

namespace ako::worker {
namespace {

constexpr std::size_t k_page = 4096;

// Deeper than receiving and parsing a request goes.
[[gnu::noinline]] void scrub_stack() {
  char dead[64 << 10];
  std::memset(dead, 0, sizeof dead);
  asm volatile("" : : "r"(dead) : "memory");
}

} // namespace

Vault::Vault() {
  void* page = mmap(nullptr, k_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  AKO_CHECK(page != MAP_FAILED, "no page for the vault");
  madvise(page, k_page, MADV_DONTDUMP);
  m_page = new (page) Secrets;
}

Vault::Secrets& Vault::open() {
  mprotect(m_page, k_page, PROT_READ | PROT_WRITE);
  return *m_page;
}

void Vault::lock() {
  scrub_stack();
  mprotect(m_page, k_page, PROT_NONE);
}

} // namespace ako::worker
