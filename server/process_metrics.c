/* process_metrics.c: reads /proc/self; field numbers as in proc(5). */
#include "server/process_metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct process_numbers {
    double cpu_seconds, start_seconds, threads, virtual_bytes, resident_bytes;
};

/* Seconds since 1970 when the machine started. */
static double boot_seconds(void) {
    char line[256];
    unsigned long long seconds = 0;
    FILE *file = fopen("/proc/stat", "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "btime %llu", &seconds) == 1)
            break;
    fclose(file);
    return (double)seconds;
}

static void read_numbers(struct process_numbers *out) {
    char text[1024];
    *out = (struct process_numbers){0};
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file)
        return;
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = '\0';
    const char *rest = strrchr(text, ')'); /* the name may contain blanks and brackets */
    unsigned long long user, system, start, virtual_bytes;
    long long threads, pages;
    if (!rest || sscanf(rest + 1,
                        " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d "
                        "%lld %*d %llu %llu %lld",
                        &user, &system, &threads, &start, &virtual_bytes, &pages) != 6)
        return;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    out->cpu_seconds = (double)(user + system) / ticks;
    out->start_seconds = boot_seconds() + (double)start / ticks;
    out->threads = (double)threads;
    out->virtual_bytes = (double)virtual_bytes;
    out->resident_bytes = (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double count_open_files(void) {
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return 0;
    int count = -3; /* ".", ".." and the directory itself */
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void write_number(struct json_writer *out, const char *name, const char *type,
                         const char *help, double value) {
    json_writer_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name,
                       value);
}

void process_metrics_write(struct json_writer *out) {
    struct process_numbers numbers;
    struct rlimit files = {0};
    read_numbers(&numbers);
    getrlimit(RLIMIT_NOFILE, &files);
    write_number(out, "process_cpu_seconds_total", "counter", "User and system time.",
                 numbers.cpu_seconds);
    write_number(out, "process_start_time_seconds", "gauge", "Start, in seconds since 1970.",
                 numbers.start_seconds);
    write_number(out, "process_threads", "gauge", "Threads.", numbers.threads);
    write_number(out, "process_virtual_memory_bytes", "gauge", "Size of the address space.",
                 numbers.virtual_bytes);
    write_number(out, "process_resident_memory_bytes", "gauge", "Memory held.",
                 numbers.resident_bytes);
    write_number(out, "process_open_fds", "gauge", "Open files and sockets.", count_open_files());
    write_number(out, "process_max_fds", "gauge", "Allowed open files and sockets.",
                 (double)files.rlim_cur);
}
