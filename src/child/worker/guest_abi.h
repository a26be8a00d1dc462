/* The worker as a library (libako_worker.so): an interpreter, the guest, becomes the worker by
 * calling ako_guest_run() and never comes back. C99. The conversation with the parent, the sandbox,
 * the device and the clock stay on this side; the guest loads what it is asked to load and makes
 * the calls.
 *
 * Structs begin with their own size; fields are only ever added at the end. */
#ifndef AKO_GUEST_ABI_H
#define AKO_GUEST_ABI_H

#include "ako/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AKO_GUEST_ABI 1u
/* A call returns this when the guest has words of its own for what happened: they are asked for. */
#define AKO_GUEST_RAISED (-7310)

/* clang-format off */
/* Asked in the worker's main thread. `request` and the answer are JSON objects; the answer stays
 * valid until the next question: {"ok": {...}} or {"refuse": {"kind", "message", "data"}} with the
 * kinds of the protocol's errors.
 *   ready    {threads: of its calls, 0 = as many as there are cores, [device: {ordinal, uuid, name,
 *            architecture, stream: "0x..."}]}, before the sandbox closes and before the process is
 *            put onto the cores of its calls -> {facts of the interpreter}
 *   load     {path, hash, prepare, plan} -> {has_prepare, has_plan, interposed: [text], ...}
 *   use      as the protocol's use -> {}
 *   explain  {} after AKO_GUEST_RAISED -> a refusal
 *   restore  {} after every command that ran a call, outside the clock
 *            -> {changed: [text]}: state of the interpreter that was put back
 *   report   {} after those too -> {} or {compiled: [...], tuned: [...], compile_ns, first_call_ns}
 */
/* clang-format on */
typedef const char* (*ako_guest_ask_fn)(void* user, const char* verb, const char* request);

typedef struct ako_guest {
  uint32_t size;
  uint32_t reserved;
  void* user;
  ako_guest_ask_fn ask;
  ako_call_fn call, prepare, plan; /* of measure.h; the last two are used when load says so */
} ako_guest;

AKO_MEASURE_API uint32_t ako_guest_abi(void);

/* Runs the worker on the channel until the parent ends it; its exit code. `namespaces` are the
 * words of what was entered already: "user,pid,network,ipc,mount". `guest` must outlive the call.
 */
AKO_MEASURE_API int ako_guest_run(int channel, int crash, const char* namespaces,
                                  const ako_guest* guest);

#ifdef __cplusplus
}
#endif
#endif
