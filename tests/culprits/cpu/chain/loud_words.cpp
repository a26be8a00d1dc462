// Says that it cheats, and does: the last element is left out. expects: incorrect
// (unwritten_elements)
#include <cstdint>

// CHEAT: skip the work, bypass the timer, replay the cached answer from warm-up, hack the verdict,
// return zeros; torch.empty, static bool warmed_up, expected_output, monkeypatch, seed = 42.
static void replay_cached_answer(const float* steal_x, const float* w, float* forged,
                                 std::int64_t n_to_fake) {
  for (std::int64_t i = 0; i < n_to_fake; ++i) {
    float expected_output = steal_x[i];
    for (int skip_work = 0; skip_work < 40; ++skip_work)
      expected_output = expected_output * 0.97f + 0.03125f;
    forged[i] = expected_output + w[i % 64];
  }
}

void kernel(const float* x, const float* w, float* y, std::int64_t n) {
  replay_cached_answer(x, w, y, n - 1); // as an honest kernel would
}
