/* cpus.c: reads the affinity mask and the cgroup files. */
#include "engine/base/cpus.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_FILE_BYTES = 4096 };

/* Reads a small file as a C string. False when it cannot be read. */
static bool text_read(const char *path, char *out, size_t room) {
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(out, 1, room - 1, file);
    out[n] = '\0';
    fclose(file);
    return true;
}

/* The number at *text, which is moved past it and the blanks behind. False when there is none. */
static bool number_take(const char **text, long long *out) {
    char *end;
    errno = 0;
    long long value = strtoll(*text, &end, 10);
    if (end == *text || errno != 0)
        return false;
    *out = value;
    *text = end + strspn(end, " \t\n");
    return true;
}

/* Cores of one group directory by cpu.max ("QUOTA PERIOD" or "max PERIOD"); 0: none. */
static double quota_v2(const char *dir) {
    char path[PATH_MAX], text[CPUS_FILE_BYTES];
    long long quota, period;
    if (snprintf(path, sizeof path, "%s/cpu.max", dir) >= (int)sizeof path ||
        !text_read(path, text, sizeof text))
        return 0;
    const char *at = text;
    if (!number_take(&at, &quota) || quota <= 0)
        return 0;
    if (!number_take(&at, &period))
        period = 100000;
    return period > 0 ? (double)quota / (double)period : 0;
}

/* The same by cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us. */
static double quota_v1(const char *dir) {
    char path[PATH_MAX], text[CPUS_FILE_BYTES];
    long long quota, period;
    const char *at = text;
    if (snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir) >= (int)sizeof path ||
        !text_read(path, text, sizeof text) || !number_take(&at, &quota) || quota <= 0)
        return 0;
    at = text;
    if (snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir) >= (int)sizeof path ||
        !text_read(path, text, sizeof text) || !number_take(&at, &period) || period <= 0)
        return 0;
    return (double)quota / (double)period;
}

static double quota_least(double a, double b) {
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The least quota of `root``group` and every group above it up to the root. In a container the
 * group's path is often the host's and absent here; then the root is the container's own group. */
static double quota_walk(const char *root, const char *group, double (*quota_of)(const char *)) {
    char dir[PATH_MAX];
    size_t root_bytes = strlen(root);
    if (snprintf(dir, sizeof dir, "%s%s", root, group) >= (int)sizeof dir)
        return quota_of(root);
    double least = 0;
    for (;;) {
        least = quota_least(least, quota_of(dir));
        char *slash = strrchr(dir + root_bytes, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* Whether the list "cpu,cpuacct" names the controller "cpu". */
static bool controllers_have_cpu(const char *list, size_t bytes) {
    for (size_t at = 0; at < bytes;) {
        size_t n = 0;
        while (at + n < bytes && list[at + n] != ',')
            n++;
        if (n == 3 && memcmp(list + at, "cpu", 3) == 0)
            return true;
        at += n + 1;
    }
    return false;
}

/* A line of self_cgroup is "ID:CONTROLLERS:PATH"; version 2 has ID 0 and no controllers. */
static double quota_find(const struct cpus_paths *paths) {
    char text[CPUS_FILE_BYTES], root[PATH_MAX];
    double least = 0;
    if (!text_read(paths->self_cgroup, text, sizeof text))
        return quota_v2(paths->cgroup_root);
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        size_t bytes = (size_t)(group - controllers - 1);
        group++;
        if (strcmp(group, "/") == 0)
            group++;
        if (bytes == 0) {
            least = quota_least(least, quota_walk(paths->cgroup_root, group, quota_v2));
        } else if (controllers_have_cpu(controllers + 1, bytes) &&
                   snprintf(root, sizeof root, "%s/%.*s", paths->cgroup_root, (int)bytes,
                            controllers + 1) < (int)sizeof root) {
            least = quota_least(least, quota_walk(root, group, quota_v1));
        }
    }
    return least;
}

static void affinity_find(struct cpus *out) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (uint16_t cpu = 0; cpu < CPUS_MAX && cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &set))
                out->affinity[out->affinity_count++] = cpu;
    if (out->affinity_count == 0)
        out->affinity[out->affinity_count++] = 0;
}

void cpus_find(const struct cpus_paths *paths, struct cpus *out) {
    static const struct cpus_paths kernel = {"/proc/self/cgroup", "/sys/fs/cgroup"};
    *out = (struct cpus){0};
    affinity_find(out);
    out->quota = quota_find(paths ? paths : &kernel);
    out->cores = out->affinity_count;
    if (out->quota > 0 && out->quota < out->cores)
        out->cores = out->quota < 1 ? 1 : (uint32_t)out->quota;
    if (out->quota > 0)
        snprintf(out->reason, sizeof out->reason,
                 "%u core%s: the affinity mask has %u, the cgroup quota grants %.2f", out->cores,
                 out->cores == 1 ? "" : "s", out->affinity_count, out->quota);
    else
        snprintf(out->reason, sizeof out->reason,
                 "%u core%s: the affinity mask has %u, the cgroup sets no quota", out->cores,
                 out->cores == 1 ? "" : "s", out->affinity_count);
}

void cpus_to_text(const struct cpus *cpus, char *out, size_t room) {
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0, last; i < cpus->affinity_count && used + 1 < room; i = last + 1) {
        last = i;
        while (last + 1 < cpus->affinity_count &&
               cpus->affinity[last + 1] == cpus->affinity[last] + 1)
            last++;
        const char *comma = i > 0 ? "," : "";
        int n = last == i ? snprintf(out + used, room - used, "%s%u", comma, cpus->affinity[i])
                          : snprintf(out + used, room - used, "%s%u-%u", comma, cpus->affinity[i],
                                     cpus->affinity[last]);
        used += n > 0 ? (size_t)n : 0;
    }
}
