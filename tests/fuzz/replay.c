/* replay.c: runs a fuzzer's function once on every file of the folders it is given, so that the
 * corpus is a test that needs no fuzzer: replay FOLDER... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Reads the file into memory of exactly its size, so that a sanitizer sees every step past it. */
static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "%s: cannot be read\n", path);
        if (file)
            fclose(file);
        return 1;
    }
    long bytes = ftell(file);
    uint8_t *data = malloc(bytes > 0 ? (size_t)bytes : 1);
    rewind(file);
    int failed = !data || bytes < 0 || fread(data, 1, (size_t)bytes, file) != (size_t)bytes;
    fclose(file);
    if (!failed)
        LLVMFuzzerTestOneInput(data, (size_t)bytes);
    free(data);
    return failed;
}

int main(int argc, char **argv) {
    unsigned count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            fprintf(stderr, "%s: no such folder\n", argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (replay_file(path) != 0)
                return 1;
            count++;
        }
        closedir(folder);
    }
    printf("replayed %u inputs\n", count);
    return count == 0;
}
