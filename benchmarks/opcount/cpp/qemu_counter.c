// A plugin of qemu's user-mode emulator that counts guest instructions between marks, a mark being a write to file -1.
// Every second mark writes the instructions since the one before to the file that out=<path> names, one number a line.
//
// Built without qemu's header, which Debian does not ship: what it declares of version 1 is repeated here.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                                  void (*translated)(qemu_plugin_id_t, struct qemu_plugin_tb*));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* tb, int op, void* to, uint64_t more);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* tb);
extern void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
                                                 void (*called)(qemu_plugin_id_t, unsigned, int64_t, uint64_t, uint64_t,
                                                                uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                                uint64_t));

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { add_u64 = 0, write_call = 64 };  // the call's number on 64-bit ARM

static uint64_t count, begun;
static int is_inside;
static FILE* out;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(tb, add_u64, &count, qemu_plugin_tb_n_insns(tb));
}

static void called(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t file, uint64_t b, uint64_t c, uint64_t d,
                   uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
  (void)id, (void)cpu, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  if (number != write_call || (int32_t)file != -1) return;
  if (is_inside) fprintf(out, "%" PRIu64 "\n", count - begun), fflush(out);
  is_inside = !is_inside;
  begun = count;
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void* info, int n,
                                                               char** arguments) {
  (void)info;
  for (int i = 0; i < n; ++i)
    if (strncmp(arguments[i], "out=", 4) == 0) out = fopen(arguments[i] + 4, "w");
  if (out == NULL) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_vcpu_syscall_cb(id, called);
  return 0;
}
