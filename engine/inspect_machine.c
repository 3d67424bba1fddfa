/* inspect_machine.c: what the engine has to work with on this machine, for `bertd version`. */
#include <stdio.h>
#include <string.h>

#include "engine/compute/gemm.h"
#include "engine/inspect.h"

#if defined(__x86_64__)
#include <cpuid.h>

static void add_feature(struct inspect_machine *machine, const char *name, bool found) {
    size_t used = strlen(machine->cpu_features);
    if (found)
        snprintf(machine->cpu_features + used, sizeof machine->cpu_features - used, "%s%s",
                 used ? " " : "", name);
}

/* From the CPU itself: not every compiler's __builtin_cpu_supports() knows the names of AMX. */
static void add_amx(struct inspect_machine *machine) {
    unsigned a, b, c, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return;
    add_feature(machine, "amx-bf16", d & (1u << 22));
    add_feature(machine, "amx-tile", d & (1u << 24));
    add_feature(machine, "amx-int8", d & (1u << 25));
}
#endif

void inspect_machine_find(struct inspect_machine *out) {
    *out = (struct inspect_machine){.auto_dtype = gemm_has_dtype(GEMM_BF16) ? "bf16" : "f32"};
    gemm_get_library(out->library, sizeof out->library);
#if defined(__x86_64__)
    __builtin_cpu_init();
#define ADD_FEATURE(name) add_feature(out, name, __builtin_cpu_supports(name) != 0)
    ADD_FEATURE("sse4.1");
    ADD_FEATURE("avx");
    ADD_FEATURE("avx2");
    ADD_FEATURE("fma");
    ADD_FEATURE("avx512f");
    ADD_FEATURE("avx512bw");
    ADD_FEATURE("avx512vnni");
    ADD_FEATURE("avx512bf16");
#undef ADD_FEATURE
    add_amx(out);
#elif defined(__aarch64__)
    snprintf(out->cpu_features, sizeof out->cpu_features, "asimd");
#endif
}
